/** Kubeconfig file by which kubectl and the SDK reach a standalone. */
import { dirname } from "node:path";
import { stringify } from "yaml";
import { ConfigurationError, messageOf } from "../../kube/errors.ts";

/** User and server of the kubeconfig. */
export interface KubeconfigContent {
  readonly server: string;
  /** PEM of the CA to trust. */
  readonly caCertificate: string;
  readonly token: string;
}

/** The kubeconfig as YAML, with one context. */
export function kubeconfigYaml({ server, caCertificate, token }: KubeconfigContent): string {
  const name = "milepost";
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name,
      cluster: { server, "certificate-authority-data": btoa(caCertificate) },
    }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  }, { lineWidth: 0 });
}

/** Writes it for its user alone, at once or not at all. Throws a ConfigurationError if it cannot. */
export async function writeKubeconfig(file: string, content: KubeconfigContent): Promise<void> {
  const temporary = `${file}.${crypto.randomUUID()}.tmp`;
  try {
    await Deno.mkdir(dirname(file), { recursive: true });
    await Deno.writeTextFile(temporary, kubeconfigYaml(content), { mode: 0o600 });
    await Deno.rename(temporary, file);
  } catch (cause) {
    throw new ConfigurationError(`--kubeconfig ${file} cannot be written: ${messageOf(cause)}`, {
      cause,
    });
  }
}
