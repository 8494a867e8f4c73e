/** Log of a pod, as far as it is written. */
import type { KubeClient } from "../../platform/kube/client.ts";
import { KubeError } from "../../platform/kube/errors.ts";

/** Returns the log; undefined if the API server gives none: the pod has not begun, or is gone. */
export async function podLog(
  client: Pick<KubeClient, "read">,
  pod: string,
  namespace = "default",
): Promise<string | undefined> {
  try {
    return (await client.read(`/api/v1/namespaces/${namespace}/pods/${pod}/log`)).text;
  } catch (error) {
    if (error instanceof KubeError) return undefined;
    throw error;
  }
}
