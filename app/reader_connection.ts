/** Connection to the cluster of a kubeconfig for what only reads it, and writes no file. */
import type { Connection } from "../platform/kube/connection/connection.ts";
import { loadKubeconfig } from "../platform/kube/connection/kubeconfig.ts";
import { giveUpPermissions } from "./permissions.ts";

/** Reads the kubeconfig, and gives up the permissions that are not needed with it. */
export async function connectAsReader(
  { kubeconfig, context }: { readonly kubeconfig?: string; readonly context?: string },
): Promise<Connection> {
  const connection = loadKubeconfig(kubeconfig, undefined, context);
  const runsCredentialPlugin = connection.user?.exec !== undefined;
  await giveUpPermissions({ runsCredentialPlugin, writesFiles: false });
  return connection;
}
