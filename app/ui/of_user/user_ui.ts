/** `milepost ui`: the page on loopback for the cluster of a kubeconfig, with the rights of its user. */
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { createClient, type KubeClient } from "../../../kube/client.ts";
import { type Clock, systemClock } from "../../../kube/clock.ts";
import { ConfigurationError, KubeError, messageOf } from "../../../kube/errors.ts";
import type { Connection } from "../../../kube/kubeconfig.ts";
import { errorOf, readBody } from "../../../kube/response.ts";
import { createCurveMirror } from "../../../page/mirror/curve_mirror.ts";
import type { PageServer } from "../../../page/server/page_server.ts";
import { ownName } from "../../../page/server/viewer_rights.ts";
import { createJobView } from "../job_view.ts";
import { createSessions, startPage } from "../start_page.ts";
import { createUserAccess } from "./user_access.ts";
import { createUserJobs } from "./user_jobs.ts";
import { createUserManager } from "./user_manager.ts";
import { createUserRights } from "./user_rights.ts";

/** Streams of events: of all tabs of one user's browsers. */
const STREAMS = { total: 200, perSubject: 200 } as const;
/** For requests of the page at the end, in milliseconds. */
const DRAIN_MS = 500;
const DEADLINE_MS = 10_000;
const MAX_BYTES = 65_536;

/** Its settings. */
export interface UserUiOptions {
  /** 0: one that is free. */
  readonly port: number;
  /** The namespaces that are looked at where the user may not list all. Default: the context's. */
  readonly namespaces: readonly string[];
  readonly managerNamespace: string;
  readonly managerService: string;
}

/** A page that is served. */
export interface UserUi {
  readonly page: Pick<PageServer, "url" | "newAddress">;
  /** URL of the API server. */
  readonly server: string;
  /** Returns what is not shown, and why, as sentences. */
  missing(): readonly string[];
  stop(): Promise<void>;
}

/** Throws a {@link ConfigurationError} that says why if the API server does not answer this user. */
async function checkCluster(client: KubeClient, connection: Connection): Promise<void> {
  const { currentContext: context } = connection;
  const server = connection.getCurrentCluster()?.server;
  const request = { method: "GET", path: "/version" };
  try {
    const answer = await client.raw(request.path, { deadlineMs: DEADLINE_MS });
    if (!answer.ok) throw await errorOf(answer, request);
    await readBody(answer, MAX_BYTES);
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    if (cause instanceof KubeError && cause.code === 401) {
      const refused = `${server} does not accept the credentials of the context ${context}`;
      const advice = "log in again, or choose another with --context";
      throw new ConfigurationError(`${refused}: ${advice}`, { cause });
    }
    // Who may not read the version may still read jobs.
    if (cause instanceof KubeError && cause.code === 403) return;
    const advice = "is this the right context, and the network there?";
    const problem = `cannot reach the cluster of the context ${context}: ${messageOf(cause)}`;
    throw new ConfigurationError(`${problem}; ${advice}`, { cause });
  }
}

/** Starts it. Leaves nothing running if it throws. */
export async function startUserUi(
  options: UserUiOptions,
  { connection, clock = systemClock }: { readonly connection: Connection; readonly clock?: Clock },
): Promise<UserUi> {
  const kinds = JOB_KINDS;
  const server = connection.getCurrentCluster()?.server ?? "";
  const context = connection.getContextObject(connection.currentContext);
  const namespaces = options.namespaces.length > 0
    ? options.namespaces
    : [context?.namespace ?? "default"];
  await using cleanup = new AsyncDisposableStack();
  const client = createClient({ connection, clock });
  cleanup.defer(() => client.close());
  await checkCluster(client, connection);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const user = await ownName(client, signal) ?? connection.getCurrentUser()?.name ?? "";
  const loops = new AbortController();
  const sessions = createSessions(clock);
  const rights = createUserRights({ client, clock });
  const jobs = createUserJobs({ client, clock, kinds, rights, namespaces });
  const readers = createUserAccess({ clock, sessions, rights, user, hold: jobs.hold });
  cleanup.defer(() => readers.access.close());
  const manager = createUserManager({
    connection,
    client,
    clock,
    jobNamespaces: namespaces,
    namespace: options.managerNamespace,
    service: options.managerService,
  });
  const mirror = createCurveMirror({
    manager: manager.client,
    missing: () => manager.missing().join("; "),
    clock,
  });
  const view = createJobView({
    kinds,
    caches: jobs.caches,
    readers,
    namespaces,
    ask: mirror.ask,
    follow: mirror.follow,
    streams: STREAMS,
  });
  cleanup.defer(() => view.close());
  const running = [jobs.run(loops.signal), manager.run(loops.signal)];
  cleanup.defer(async () => {
    loops.abort();
    await Promise.all([...running, mirror.close()]);
  });
  await jobs.looked;
  const missing = () => [...rights.missing(), ...jobs.missing(), ...manager.missing()];
  const page = await startPage({
    port: options.port,
    client,
    clock,
    kinds,
    server,
    user,
    sessions,
    view: view.handle,
    manager: manager.client,
    missing,
  });
  cleanup.defer(() => page.close(DRAIN_MS));
  const started = cleanup.move();
  return { page, server, missing, stop: () => started.disposeAsync() };
}
