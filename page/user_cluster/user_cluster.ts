/** Cluster of a kubeconfig as one user sees it: jobs, the manager and its curves, with that user's rights. */
import { JOB_KINDS } from "../../crds/job_kinds.ts";
import { STANDALONE } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { createClient } from "../../platform/kube/connection/connected_client.ts";
import { onAbort } from "../../platform/base/aborted.ts";
import { type Clock, systemClock } from "../../platform/base/clock.ts";
import {
  ConfigurationError,
  KubeError,
  messageOf,
  TransportError,
} from "../../platform/kube/errors.ts";
import type { Connection } from "../../platform/kube/connection/connection.ts";
import { createCurveMirror } from "../mirror/curve_mirror.ts";
import { createUserJobs } from "./user_jobs.ts";
import { createUserManager } from "./user_manager.ts";
import { createUserRights } from "./user_rights.ts";

const DEADLINE_MS = 10_000;
const MAX_BYTES = 65_536;

/** Where it is, and what is read. */
export interface UserClusterOptions {
  /** The namespaces that are read where the user may not list all. Default: the context's. */
  readonly namespaces: readonly string[];
  /** Whether no others are read, whatever the user may list. Default: false. */
  readonly noOthers?: boolean;
  /** What is not needed: it is not asked for. */
  readonly without?: readonly ("jobs" | "manager")[];
  readonly managerNamespace: string;
  readonly managerService: string;
}

/** Throws a {@link ConfigurationError} if the API server does not take this user's credentials, and a {@link TransportError} if it does not answer. */
async function checkCluster(
  client: KubeClient,
  connection: Connection,
  signal?: AbortSignal,
): Promise<void> {
  const { context: { name: context }, cluster: { server } } = connection;
  try {
    await client.read("/version", { deadlineMs: DEADLINE_MS, maxBytes: MAX_BYTES, signal });
  } catch (cause) {
    if (cause instanceof ConfigurationError || signal?.aborted) throw cause;
    if (cause instanceof KubeError && cause.code === 401) {
      const refused = `${server} does not accept the credentials of the context ${context}`;
      const advice = "log in again, or choose another with --context";
      throw new ConfigurationError(`${refused}: ${advice}`, { cause });
    }
    // Who may not read the version may still read jobs.
    if (cause instanceof KubeError && cause.code === 403) return;
    const isOwn = context === STANDALONE.kubeconfigName && /^https:\/\/127\.0\.0\.1\b/.test(server);
    const what = isOwn ? "does `milepost standalone` run?" : "the network there?";
    const advice = `is this the right context, and ${what}`;
    const problem = `cannot reach the cluster of the context ${context}: ${messageOf(cause)}`;
    throw new TransportError(`${problem}; ${advice}`, { cause });
  }
}

/** What it is opened with. */
export interface UserClusterParts {
  readonly connection: Connection;
  readonly clock?: Clock;
  /** Ends the opening. */
  readonly signal?: AbortSignal;
}

/** Opens it. Leaves nothing running if it throws, as it does when the signal aborts before it is open. */
export async function openUserCluster(
  options: UserClusterOptions,
  { connection, clock = systemClock, signal }: UserClusterParts,
) {
  const kinds = JOB_KINDS;
  const namespaces = options.namespaces.length > 0
    ? options.namespaces
    : [connection.context.namespace ?? "default"];
  const { noOthers = false, managerNamespace: namespace, managerService: service } = options;
  await using cleanup = new AsyncDisposableStack();
  const client = createClient({ connection, clock });
  cleanup.defer(() => client.close());
  await checkCluster(client, connection, signal);
  const rights = createUserRights({ client, clock });
  cleanup.defer(() => rights.close());
  const jobs = createUserJobs({ client, clock, kinds, rights, namespaces, noOthers });
  const found = { connection, client, clock, namespace, service };
  const manager = createUserManager(found);
  const mirror = createCurveMirror({
    manager: manager.client,
    missing: () => manager.missing().join("; "),
    clock,
  });
  const loops = new AbortController();
  const { without = [] } = options;
  const running = [
    ...(without.includes("jobs") ? [] : [jobs.run(loops.signal)]),
    ...(without.includes("manager") ? [] : [manager.run(loops.signal)]),
  ];
  cleanup.defer(async () => {
    loops.abort();
    await Promise.all([...running, mirror.close()]);
  });
  // With the loops ends the first look.
  const forget = onAbort(signal, () => loops.abort());
  if (!without.includes("jobs")) await jobs.polled;
  forget();
  signal?.throwIfAborted();
  const opened = cleanup.move();
  return {
    client,
    clock,
    kinds,
    /** URL of the API server. */
    server: connection.cluster.server,
    namespaces,
    rights,
    jobs,
    manager,
    mirror,
    /** Returns what is not shown, and why, as sentences. */
    missing: () => [...rights.missing(), ...jobs.missing(), ...manager.missing()],
    /** Resolves when nothing of it runs. */
    close: (): Promise<void> => opened.disposeAsync(),
  };
}
