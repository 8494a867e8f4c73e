/**
 * Address of the API server, and the credentials for it. Only the small parts of client-node are used here:
 * its KubeConfig imports every class of the Kubernetes API, which takes 80 MB of memory.
 */
import { readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { isAbsolute, join } from "node:path";
import type { Authenticator } from "@kubernetes/client-node/dist/auth.js";
import {
  type Cluster,
  type Context,
  newClusters,
  newContexts,
  newUsers,
  type User,
} from "@kubernetes/client-node/dist/config_types.js";
import { AzureAuth } from "@kubernetes/client-node/dist/azure_auth.js";
import { ExecAuth } from "@kubernetes/client-node/dist/exec_auth.js";
import { FileAuth } from "@kubernetes/client-node/dist/file_auth.js";
import { GoogleCloudPlatformAuth } from "@kubernetes/client-node/dist/gcp_auth.js";
import { OidcTokens } from "./oidc.ts";

export type { Cluster, Context, User } from "@kubernetes/client-node/dist/config_types.js";

/** Content of a kubeconfig. */
export interface ConnectionParts {
  readonly clusters: Cluster[];
  readonly contexts: Context[];
  readonly users: User[];
  readonly currentContext: string;
}

/** A kubeconfig as decoded from YAML or JSON, its parts not yet validated. */
export interface KubeconfigDocument {
  readonly clusters?: unknown;
  readonly contexts?: unknown;
  readonly users?: unknown;
  readonly "current-context"?: string | null;
}

/** Name of the `auth-provider` that is ours to know. */
const OIDC = "oidc";

function absolute(folder: string, file: string | undefined): string | undefined {
  return file && !isAbsolute(file) ? join(folder, file) : file;
}

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

/** The parts of a kubeconfig; file names in it are relative to `folder`. Throws if a part is missing. */
export function partsOf(document: KubeconfigDocument, folder: string): ConnectionParts {
  const paths = <T extends object>(entry: T, ...names: (keyof T)[]): T => ({
    ...entry,
    ...Object.fromEntries(names.map((name) => {
      const file = entry[name];
      return [name, typeof file === "string" ? absolute(folder, file) : file];
    })),
  });
  return {
    clusters: newClusters(document.clusters).map((it) => paths(it, "caFile")),
    contexts: newContexts(document.contexts),
    users: newUsers(document.users).map((it) => paths(it, "certFile", "keyFile")),
    currentContext: document["current-context"] ?? "",
  };
}

/** One way to one API server. */
export class Connection {
  readonly clusters: readonly Cluster[];
  readonly contexts: readonly Context[];
  readonly users: readonly User[];
  readonly currentContext: string;
  // They remember tokens, so they live as long as the connection.
  readonly #authenticators: readonly Authenticator[] = [
    new ExecAuth(),
    new FileAuth(),
    new GoogleCloudPlatformAuth(),
    new AzureAuth(),
  ];
  readonly #material: Material;
  #oidc: OidcTokens | undefined;

  constructor({ clusters, contexts, users, currentContext }: ConnectionParts) {
    this.clusters = clusters;
    this.contexts = contexts;
    this.users = users;
    this.currentContext = currentContext;
    const [cluster, user] = [this.getCurrentCluster(), this.getCurrentUser()];
    this.#material = {
      ca: reader(cluster?.caFile, cluster?.caData),
      cert: reader(user?.certFile, user?.certData),
      key: reader(user?.keyFile, user?.keyData),
    };
  }

  getContextObject(name: string): Context | undefined {
    return this.contexts.find((it) => it.name === name);
  }

  getCluster(name: string): Cluster | undefined {
    return this.clusters.find((it) => it.name === name);
  }

  getUser(name: string): User | undefined {
    return this.users.find((it) => it.name === name);
  }

  getCurrentCluster(): Cluster | undefined {
    return this.getCluster(this.getContextObject(this.currentContext)?.cluster ?? "");
  }

  getCurrentUser(): User | undefined {
    return this.getUser(this.getContextObject(this.currentContext)?.user ?? "");
  }

  /**
   * Adds certificates and the header of authentication; reads files and runs commands if the user
   * has them. Throws what these throw.
   */
  async applyToHTTPSOptions(options: RequestOptions): Promise<void> {
    const { ca, cert, key } = this.#material;
    options.ca = ca();
    const user = this.getCurrentUser();
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
