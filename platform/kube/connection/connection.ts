/**
 * Address of the API server, and the credentials for it. Only the small parts of client-node are used here:
 * its KubeConfig imports every class of the Kubernetes API, which takes 80 MB of memory.
 */
import { readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import type { Authenticator } from "@kubernetes/client-node/dist/auth.js";
import type { Cluster, Context, User } from "@kubernetes/client-node/dist/config_types.js";
import { AzureAuth } from "@kubernetes/client-node/dist/azure_auth.js";
import { ExecAuth } from "@kubernetes/client-node/dist/exec_auth.js";
import { FileAuth } from "@kubernetes/client-node/dist/file_auth.js";
import { GoogleCloudPlatformAuth } from "@kubernetes/client-node/dist/gcp_auth.js";
import { textOfBase64 } from "../../base/base64.ts";
import { OidcTokens } from "./oidc.ts";

/** Name of the `auth-provider` that is ours to know. */
const OIDC = "oidc";

/** A file is read each time: it may have been renewed. */
function reader(file: string | undefined, data: string | undefined): () => string | undefined {
  if (file) return () => readFileSync(file, "utf8");
  let text: string | undefined;
  return () => data ? text ??= textOfBase64(data) : undefined;
}

/** Certificates of one user of one cluster. */
const materialOf = (cluster: Cluster, user: User | undefined) => ({
  ca: reader(cluster.caFile, cluster.caData),
  cert: reader(user?.certFile, user?.certData),
  key: reader(user?.keyFile, user?.keyData),
});

/** One way to one API server: what one context of a kubeconfig names; without a user, as nobody. */
export class Connection {
  // They remember tokens, so they live as long as the connection.
  readonly #authenticators: readonly Authenticator[] = [
    new ExecAuth(),
    new FileAuth(),
    new GoogleCloudPlatformAuth(),
    new AzureAuth(),
  ];
  readonly #material: ReturnType<typeof materialOf>;
  #oidc: OidcTokens | undefined;

  constructor(readonly context: Context, readonly cluster: Cluster, readonly user?: User) {
    this.#material = materialOf(cluster, user);
  }

  /**
   * Adds certificates and the header of authentication; reads files and runs commands if the user
   * has them. Throws what these throw.
   */
  async applyToHTTPSOptions(options: RequestOptions): Promise<void> {
    const { ca, cert, key } = this.#material;
    const { user } = this;
    options.ca = ca();
    if (!user) return;
    options.cert = cert();
    options.key = key();
    const headers: Record<string, string> = {};
    if (user.impersonateUser) headers["Impersonate-User"] = user.impersonateUser;
    options.headers = headers;
    if (user.authProvider?.name === OIDC) {
      this.#oidc ??= new OidcTokens(user.authProvider.config);
      headers["Authorization"] = `Bearer ${await this.#oidc.token()}`;
    }
    const authenticator = this.#authenticators.find((it) => it.isAuthProvider(user));
    await authenticator?.applyAuthentication(user, options);
    if (user.token) headers["Authorization"] = `Bearer ${user.token}`;
    if (user.username) options.auth = `${user.username}:${user.password ?? ""}`;
  }
}
