/** Kubeconfig: the API server and the credentials to use with it. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { isIPv6 } from "node:net";
import { dirname, join, resolve } from "node:path";
import {
  type Cluster,
  type Context,
  newClusters,
  newContexts,
  newUsers,
  type User,
} from "@kubernetes/client-node/dist/config_types.js";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { textOfBase64 } from "../../base/base64.ts";
import { Connection } from "./connection.ts";
import { ConfigurationError, messageOf } from "../errors.ts";

/** Folder in which the kubelet mounts a pod's own credentials. */
const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

const named = z.looseObject({ name: z.string().min(1) });
const fileSchema = z.looseObject({
  clusters: z.array(named.extend({
    cluster: z.looseObject({ server: z.string().min(1) }),
  })).nullish(),
  contexts: z.array(named.extend({
    context: z.looseObject({ cluster: z.string(), user: z.string().nullish() }),
  })).nullish(),
  users: z.array(named.extend({
    user: z.looseObject({ tokenFile: z.string().optional() }).nullish(),
  })).nullish(),
  "current-context": z.string().nullish(),
});
type KubeconfigFile = z.infer<typeof fileSchema>;

/** Content of a kubeconfig. */
interface Kubeconfig {
  readonly clusters: readonly Cluster[];
  readonly contexts: readonly Context[];
  readonly users: readonly User[];
  readonly currentContext: string;
}

/** Runs `work`; its error becomes one line that begins with `what`. */
function orExplain<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    throw new ConfigurationError(`${what}: ${messageOf(cause)}`, { cause });
  }
}

function readText(file: string, what: string): string {
  return orExplain(`cannot read ${what} ${file}`, () => readFileSync(file, "utf8"));
}

function parseFile(file: string): KubeconfigFile {
  const text = readText(file, "the kubeconfig");
  const value: unknown = orExplain(`the kubeconfig ${file} is not YAML`, () => parseYaml(text));
  const result = fileSchema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join(".") || "the whole";
  throw new ConfigurationError(
    `the kubeconfig ${file} is invalid: ${where}: ${issue?.message ?? "not a kubeconfig"}`,
  );
}

/** A user whose token is in a file is given the authenticator that reads it again. */
function withTokenFile(users: KubeconfigFile["users"], folder: string): unknown[] {
  return (users ?? []).map((entry) => {
    const { tokenFile, ...user } = entry.user ?? {};
    if (tokenFile === undefined) return { ...entry, user };
    const config = { tokenFile: resolve(folder, tokenFile) };
    return { ...entry, user: { ...user, "auth-provider": { name: "tokenFile", config } } };
  });
}

/** File names in it are relative to its folder. */
function loadFile(file: string): Kubeconfig {
  const { clusters, contexts, users, "current-context": currentContext } = parseFile(file);
  const folder = dirname(resolve(file));
  const inFolder = (name: string | undefined) => name && resolve(folder, name);
  return orExplain(`the kubeconfig ${file} is broken`, () => ({
    clusters: newClusters(clusters).map((it) => ({ ...it, caFile: inFolder(it.caFile) })),
    contexts: newContexts(contexts),
    users: newUsers(withTokenFile(users, folder)).map((it) => ({
      ...it,
      certFile: inFolder(it.certFile),
      keyFile: inFolder(it.keyFile),
    })),
    currentContext: currentContext ?? "",
  }));
}

/** Several files as one: what an earlier file names a later one does not change. */
function mergeFiles(files: readonly string[]): Kubeconfig {
  const configs = files.map(loadFile);
  const firstOf = <T extends { name: string }>(lists: (readonly T[])[]): T[] => [
    ...new Map(lists.flat().reverse().map((entry) => [entry.name, entry])).values(),
  ];
  return {
    clusters: firstOf(configs.map((config) => config.clusters)),
    users: firstOf(configs.map((config) => config.users)),
    contexts: firstOf(configs.map((config) => config.contexts)),
    currentContext: configs.map((config) => config.currentContext).find((name) => name) ?? "",
  };
}

function exists(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}

function pemOf(file: string | undefined, data: string | undefined, what: string) {
  if (file) return readText(file, what);
  return data ? orExplain(what, () => textOfBase64(data)) : undefined;
}

function checkCluster(cluster: Cluster, where: string): void {
  const url = orExplain(`${where}: server ${cluster.server}`, () => new URL(cluster.server));
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new ConfigurationError(`${where}: server ${cluster.server} must begin with https://`);
  }
  const ca = pemOf(cluster.caFile, cluster.caData, `${where}: certificate-authority`);
  if (ca !== undefined) {
    orExplain(`${where}: the certificate authority is not PEM`, () => new X509Certificate(ca));
  }
}

function checkUser(user: User, where: string): void {
  const cert = pemOf(user.certFile, user.certData, `${where}: client-certificate`);
  const key = pemOf(user.keyFile, user.keyData, `${where}: client-key`);
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigurationError(
      `${where}: client certificate and client key must be given together`,
    );
  }
  if (cert !== undefined && key !== undefined) {
    orExplain(`${where}: the client certificate is not PEM`, () => new X509Certificate(cert));
    orExplain(`${where}: the client key is not PEM`, () => createPrivateKey(key));
  }
  const tokenFile: unknown = user.authProvider?.config?.tokenFile;
  if (typeof tokenFile === "string") readText(tokenFile, `${where}: the token file`);
}

/** Checks what can be checked without a call: names, the address, files and certificates. */
function check(config: Kubeconfig, origin: string): Connection {
  const { currentContext: contextName, contexts, clusters, users } = config;
  if (!contextName) throw new ConfigurationError(`${origin} names no current-context`);
  const context = contexts.find(({ name }) => name === contextName);
  if (!context) {
    const known = contexts.slice(0, 20).map(({ name }) => name).join(", ") || "none";
    throw new ConfigurationError(`${origin} has no context ${contextName}; its contexts: ${known}`);
  }
  const cluster = clusters.find(({ name }) => name === context.cluster);
  if (!cluster) {
    throw new ConfigurationError(
      `${origin} has no cluster ${context.cluster}, which context ${contextName} names`,
    );
  }
  checkCluster(cluster, `${origin}, cluster ${cluster.name}`);
  const user = users.find(({ name }) => name === context.user);
  if (context.user && user === undefined) {
    throw new ConfigurationError(
      `${origin} has no user ${context.user}, which context ${contextName} names`,
    );
  }
  if (user) checkUser(user, `${origin}, user ${user.name}`);
  return new Connection(context, cluster, user);
}

function inCluster(env: (name: string) => string | undefined): Connection {
  const host = env("KUBERNETES_SERVICE_HOST") ?? "";
  const address = isIPv6(host) ? `[${host}]` : host;
  const folder = dirname(SERVICE_ACCOUNT_TOKEN);
  const cluster = {
    name: "cluster",
    server: `https://${address}:${env("KUBERNETES_SERVICE_PORT") ?? "443"}`,
    caFile: `${folder}/ca.crt`,
    skipTLSVerify: false,
  };
  const authProvider = { name: "tokenFile", config: { tokenFile: SERVICE_ACCOUNT_TOKEN } };
  const user = { name: "service-account", authProvider };
  return check(single(cluster, user), "the pod's service account");
}

/** One cluster, one user. */
function single(cluster: Cluster, user: User): Kubeconfig {
  const context = { name: "only", cluster: cluster.name, user: user.name };
  return { clusters: [cluster], users: [user], contexts: [context], currentContext: context.name };
}

/**
 * The connection that `file` describes; without one, as kubectl and controllers look for it: the
 * files of `KUBECONFIG`, the service account of the pod, `.kube/config` in the home folder. Without `context` it is
 * that of the current context.
 * Throws {@link ConfigurationError}, one line that says what is wrong and where.
 */
export function loadKubeconfig(
  file?: string,
  env: (name: string) => string | undefined = (name) => Deno.env.get(name),
  context?: string,
): Connection {
  const checkContext = (config: Kubeconfig, origin: string) =>
    check(context === undefined ? config : { ...config, currentContext: context }, origin);
  if (file !== undefined) return checkContext(loadFile(file), `the kubeconfig ${file}`);
  const files = (env("KUBECONFIG") ?? "").split(":").filter((name) => name !== "");
  if (files.length > 0) return checkContext(mergeFiles(files), `the kubeconfig ${files.join(":")}`);
  const isInPod = context === undefined && env("KUBERNETES_SERVICE_HOST");
  if (isInPod && exists(SERVICE_ACCOUNT_TOKEN)) return inCluster(env);
  const home = join(env("HOME") ?? "/", ".kube", "config");
  if (exists(home)) return checkContext(loadFile(home), `the kubeconfig ${home}`);
  throw new ConfigurationError(
    "no kubeconfig found: give --kubeconfig FILE, set KUBECONFIG, or run inside a cluster",
  );
}

/** An API server and one way to authenticate, without a file. */
export interface ServerAddress {
  /** URL of the API server. */
  readonly server: string;
  /** PEM of the authority that signed the server's certificate. */
  readonly caPem?: string;
  readonly token?: string;
  /** URL of an HTTP proxy that leads there. */
  readonly proxyUrl?: string;
  /** PEM of a client certificate and its key. */
  readonly clientCertificate?: { readonly certPem: string; readonly keyPem: string };
}

/** The connection to the same server without any credentials. */
export function withoutUser({ context, cluster }: Connection): Connection {
  return new Connection(context, cluster);
}

/** The connection to a server whose address and credentials are at hand. */
export function connectionTo(address: ServerAddress): Connection {
  const certificate = address.clientCertificate;
  const cluster = {
    name: "server",
    server: address.server.replace(/\/$/, ""),
    caData: address.caPem && btoa(address.caPem),
    skipTLSVerify: false,
    ...(address.proxyUrl !== undefined && { proxyUrl: address.proxyUrl }),
  };
  const user = {
    name: "user",
    token: address.token,
    certData: certificate && btoa(certificate.certPem),
    keyData: certificate && btoa(certificate.keyPem),
  };
  return check(single(cluster, user), address.server);
}
