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
import { OidcTokens } from "./oidc.ts";

/** What one context of a kubeconfig names. */
export interface ConnectionParts {
  readonly context: Context;
  readonly cluster: Cluster;
  /** Absent: nobody. */
  readonly user?: User | undefined;
}

/** Name of the `auth-provider` that is ours to know. */
const OIDC = "oidc";

function decoded(data: string | undefined): string | undefined {
  if (!data) return undefined;
  return new TextDecoder().decode(Uint8Array.fromBase64(data));
}

/** A file is read each time: it may have been renewed. */
function reader(file: string | undefined, data: string | undefined): () => string | undefined {
  if (file) return () => readFileSync(file, "utf8");
  let text: string | undefined;
  return () => text ??= decoded(data);
}

/** Certificates of one user of one cluster. */
interface Material {
  readonly ca: () => string | undefined;
  readonly cert: () => string | undefined;
  readonly key: () => string | undefined;
}

/** One way to one API server. */
export class Connection {
  readonly context: Context;
  readonly cluster: Cluster;
  readonly user: User | undefined;
  // They remember tokens, so they live as long as the connection.
  readonly #authenticators: readonly Authenticator[] = [
    new ExecAuth(),
    new FileAuth(),
    new GoogleCloudPlatformAuth(),
    new AzureAuth(),
  ];
  readonly #material: Material;
  #oidc: OidcTokens | undefined;

  constructor({ context, cluster, user }: ConnectionParts) {
    this.context = context;
    this.cluster = cluster;
    this.user = user;
    this.#material = {
      ca: reader(cluster.caFile, cluster.caData),
      cert: reader(user?.certFile, user?.certData),
      key: reader(user?.keyFile, user?.keyData),
    };
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
