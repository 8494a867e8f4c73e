/** Kubeconfigs of the cluster: one file a user, with a client certificate or a token. */
import { stringify } from "yaml";
import type { KeyPair } from "./certificates.ts";

/** Credentials of a user. */
export type Credentials = { readonly token: string } | KeyPair;

/** Writes a kubeconfig for one user, readable only by this process's user. Returns its path. */
export async function writeKubeconfig(
  file: string,
  server: { readonly url: string; readonly caPem: string },
  credentials: Credentials,
): Promise<string> {
  const user = "token" in credentials ? credentials : {
    "client-certificate-data": btoa(credentials.cert),
    "client-key-data": btoa(credentials.key),
  };
  const name = "cluster";
  const content = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name,
      cluster: { server: server.url, "certificate-authority-data": btoa(server.caPem) },
    }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  };
  await Deno.writeTextFile(file, stringify(content, { lineWidth: 0 }), { mode: 0o600 });
  return file;
}
