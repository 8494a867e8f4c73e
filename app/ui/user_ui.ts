/** `milepost ui`: the page on loopback for the cluster of a kubeconfig, with the rights of its user. */
import { startPageServer } from "../../page/server/page_server.ts";
import { ownName } from "../../platform/kube/self_reviews.ts";
import { createViewOfCaches } from "../../page/api/job_view.ts";
import { createBrowserSessions } from "../../page/server/browser_sessions.ts";
import { createKeptPods } from "../../views/details/kept_pods.ts";
import { createUserAccess } from "../../page/user_cluster/user_access.ts";
import {
  openUserCluster,
  type UserClusterOptions,
  type UserClusterParts,
} from "../../page/user_cluster/user_cluster.ts";

/** Streams of events: of all tabs of one user's browsers. */
const STREAMS = { total: 200, perSubject: 200 } as const;
/** For requests of the page at the end, in milliseconds. */
const DRAIN_MS = 500;
const DEADLINE_MS = 10_000;

/** Its settings. */
export interface UserUiOptions extends UserClusterOptions {
  /** 0: one that is free. */
  readonly port: number;
}

/** Starts it. Leaves nothing running if it throws. */
export async function startUserUi(
  options: UserUiOptions,
  parts: UserClusterParts,
) {
  await using cleanup = new AsyncDisposableStack();
  const cluster = await openUserCluster(options, parts);
  cleanup.defer(() => cluster.close());
  const { client, clock, kinds, server, namespaces, rights, jobs, manager, mirror } = cluster;
  const { missing } = cluster;
  const { connection } = parts;
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const user = await ownName(client, signal) ?? connection.user?.name ?? "";
  const sessions = createBrowserSessions({ clock });
  const { caches, ensureCached } = jobs;
  const readers = createUserAccess({ clock, sessions, rights, user, ensureCached });
  const { ask, follow } = mirror;
  const jobsOfUser = { kinds, caches, readers, namespaces, ask, follow };
  const view = createViewOfCaches({ ...jobsOfUser, streams: STREAMS });
  cleanup.defer(() => view.close());
  const page = await startPageServer({
    port: options.port,
    client,
    clock,
    kinds,
    server,
    user,
    sessions,
    view: view.handle,
    manager: manager.client,
    keptPods: createKeptPods(),
    missing,
  });
  cleanup.defer(() => page.close(DRAIN_MS));
  const started = cleanup.move();
  return {
    page,
    /** URL of the API server. */
    server,
    /** Returns what is not shown, and why, as sentences. */
    missing,
    stop: () => started.disposeAsync(),
  };
}
