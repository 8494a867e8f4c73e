/** A real control plane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback. */
import { KINDS } from "../../../crds/kinds.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import { until } from "../../support/until.ts";
import { type AuditEvent, auditPolicy, readAuditLog } from "./audit.ts";
import {
  type Authority,
  createAuthority,
  createSigningKeys,
  type Identity,
} from "./certificates.ts";
import { createDaemon, type Daemon } from "./daemon.ts";
import {
  apiServerFlags,
  controllerManagerFlags,
  etcdFlags,
  FILES,
  type Places,
  schedulerFlags,
} from "./flags.ts";
import { makeFolder } from "./folder.ts";
import { freePort } from "../../support/free_port.ts";
import { type Credentials, writeKubeconfig } from "./kubeconfig.ts";
import type { ControlPlaneOptions } from "./options.ts";
import { type Programs, programs } from "./programs.ts";

export type { ControlPlaneOptions } from "./options.ts";

/** A control plane that runs. */
export interface ControlPlane {
  /** `https://127.0.0.1:PORT`, the same for its whole life. */
  readonly server: string;
  /** Keys, logs, data and kubeconfigs; gone after {@link stop}. */
  readonly folder: string;
  /** The cluster's CA: of the API server, of clients, of kubelets. */
  readonly ca: Authority;
  /** Of the administrator, group `system:masters`. */
  readonly kubeconfig: string;
  /** As the administrator. */
  readonly client: KubeClient;
  /** Paths of etcd, kubectl and the others. */
  readonly programs: Programs;
  /** etcd's HTTP gateway, for compaction and the like. */
  readonly etcdUrl: string;
  /** Each can be stopped and started again, at the same place. */
  readonly etcd: Daemon;
  readonly apiServer: Daemon;
  readonly controllerManager: Daemon;
  readonly scheduler: Daemon;
  /** A kubeconfig for a user with a client certificate, or for the bearer of a token. */
  kubeconfigFor(name: string, who: Identity | { readonly token: string }): Promise<string>;
  /** What the API server has answered so far, where auditing is on. */
  auditLog(): Promise<AuditEvent[]>;
  /** The same control plane for one of several tests: with a folder and an audit log of its own. */
  lend(): Promise<ControlPlane>;
  /** Ends every program and removes the folder. Safe to call again. */
  stop(): Promise<void>;
}

async function writeFiles(folder: string, ca: Authority, options: ControlPlaneOptions) {
  const server = await ca.server("kube-apiserver", [
    "127.0.0.1",
    "10.0.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
  ]);
  const kubeletClient = await ca.client({
    user: "kube-apiserver-kubelet-client",
    groups: ["system:masters"],
  });
  const tokens = await createSigningKeys();
  const contents: Partial<Record<keyof typeof FILES, string>> = {
    ca: ca.cert,
    caKey: ca.key,
    serverCert: server.cert,
    serverKey: server.key,
    kubeletClientCert: kubeletClient.cert,
    kubeletClientKey: kubeletClient.key,
    tokenKey: tokens.privatePem,
    tokenPublicKey: tokens.publicPem,
    ...options.audit ? { auditPolicy: auditPolicy(options.audit) } : {},
  };
  for (const [name, file] of Object.entries(FILES)) {
    const text = Object.entries(contents).find(([key]) => key === name)?.[1];
    if (text !== undefined) await Deno.writeTextFile(`${folder}/${file}`, text, { mode: 0o600 });
  }
}

/** Whether an address answers 200; an address that does not answer throws. */
async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  await answer.body?.cancel();
  return answer.ok;
}

/** Whether `/readyz` is content. */
async function isReady(client: KubeClient): Promise<boolean> {
  try {
    await client.read("/readyz", { deadlineMs: 2_000, honorRetryAfter: false });
    return true;
  } catch (error) {
    if (error instanceof KubeError) return false;
    throw error;
  }
}

/** The four programs, not started. */
async function createDaemons(
  places: Places,
  all: Programs,
  options: ControlPlaneOptions,
  kubeconfigFor: ControlPlane["kubeconfigFor"],
  client: KubeClient,
) {
  const { folder, ports } = places;
  const daemon = (
    name: string,
    args: readonly string[],
    ready: () => Promise<boolean> = () => Promise.resolve(true),
  ) =>
    createDaemon({
      name,
      program: all[name] ?? name,
      args,
      logFile: `${folder}/${name}.log`,
      isReady: ready,
    });
  const user = (name: string) => kubeconfigFor(name, { user: `system:${name}` });
  const manager = await user("kube-controller-manager");
  const scheduler = await user("kube-scheduler");
  return {
    etcd: daemon(
      "etcd",
      etcdFlags(places, options),
      () => answers(`http://127.0.0.1:${ports.etcd}/health`),
    ),
    apiServer: daemon("kube-apiserver", apiServerFlags(places, options), () => isReady(client)),
    controllerManager: daemon(
      "kube-controller-manager",
      controllerManagerFlags(places, manager, options),
    ),
    scheduler: daemon("kube-scheduler", schedulerFlags(scheduler, options)),
  };
}

async function startDaemons(plane: ControlPlane, options: ControlPlaneOptions): Promise<void> {
  await plane.etcd.start();
  await plane.apiServer.start();
  await options.beforeControllers?.(plane);
  if (options.scheduler ?? true) await plane.scheduler.start();
  if (!(options.controllerManager ?? true)) return;
  await plane.controllerManager.start();
  // Pods cannot be created before.
  const account = { namespace: "default", name: "default" };
  await until(
    "the default service account",
    () => plane.client.get(KINDS.serviceAccount, account),
    {
      timeoutMs: 60_000,
    },
  );
}

/**
 * Starts a control plane; builds its programs where they are not in the cache. Throws with the log
 * of what failed, and leaves nothing then.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const all = await programs("kubernetes");
  await using cleanup = new AsyncDisposableStack();
  const folder = await makeFolder();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  const ca = await createAuthority("milepost-test-cluster");
  await writeFiles(folder, ca, options);
  const ports = { etcd: freePort(), etcdPeers: freePort(), apiServer: freePort() };
  const places = { folder, ports };
  const server = `https://127.0.0.1:${ports.apiServer}`;
  const kubeconfigFor: ControlPlane["kubeconfigFor"] = async (name, who) => {
    const credentials: Credentials = "user" in who ? await ca.client(who) : who;
    const file = `${folder}/${name}.kubeconfig`;
    return await writeKubeconfig(file, { url: server, caPem: ca.cert }, credentials);
  };
  const kubeconfig = await kubeconfigFor("admin", { user: "admin", groups: ["system:masters"] });
  const client = createClient({ connection: loadKubeconfig(kubeconfig) });
  const daemons = await createDaemons(places, all, options, kubeconfigFor, client);
  // Stopped in this order: who calls the API server, the API server, what it stores in.
  cleanup.defer(() => daemons.etcd.stop("SIGKILL"));
  cleanup.defer(() => daemons.apiServer.stop("SIGKILL"));
  cleanup.defer(async () => {
    await Promise.all([
      daemons.controllerManager.stop("SIGKILL"),
      daemons.scheduler.stop("SIGKILL"),
    ]);
  });
  const auditFile = `${folder}/${FILES.auditLog}`;
  let stopped: Promise<void> | undefined;
  let started: AsyncDisposable = cleanup;
  const plane: ControlPlane = {
    server,
    folder,
    ca,
    kubeconfig,
    client,
    programs: all,
    etcdUrl: `http://127.0.0.1:${ports.etcd}`,
    ...daemons,
    kubeconfigFor,
    auditLog: () => readAuditLog(auditFile),
    async lend() {
      const { size: from } = await Deno.stat(auditFile);
      const own = await Deno.makeTempDir({ dir: folder });
      return { ...plane, folder: own, auditLog: () => readAuditLog(auditFile, from) };
    },
    stop: () => stopped ??= Promise.resolve(started[Symbol.asyncDispose]()),
  };
  await startDaemons(plane, options);
  started = cleanup.move();
  return plane;
}

/** Runs `work` with a control plane that is stopped whatever happens. */
export async function withControlPlane(
  work: (plane: ControlPlane) => Promise<void>,
  options: ControlPlaneOptions = {},
): Promise<void> {
  const plane = await startControlPlane(options);
  try {
    await work(plane);
  } finally {
    await plane.stop();
  }
}
