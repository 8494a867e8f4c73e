/** `milepost ui --in-cluster`: the page for everybody who has a token, each with the rights of that token. */
import { getLogger } from "@logtape/logtape";
import { readFileSync } from "node:fs";
import type { z } from "zod";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { MANAGER, OBSERVATION_AUDIENCE, PORTS, UI } from "../../../crds/names.ts";
import { createReaders } from "../../../platform/http/callers/readers.ts";
import { createPeers } from "../../../platform/http/limits/peers.ts";
import {
  connectionsInAll,
  DEFAULT_SERVER_LIMITS,
  type ServerLimits,
} from "../../../platform/http/limits/server_limits.ts";
import { startServer } from "../../../platform/http/server.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { type Clock, systemClock } from "../../../platform/base/clock.ts";
import { messageOf } from "../../../platform/kube/errors.ts";
import type { Connection } from "../../../platform/kube/connection/connection.ts";
import { createTokenClients } from "../../../platform/kube/connection/token_clients.ts";
import { PAGE_ASSET_LIST } from "../../../page/assets/page_assets.ts";
import { createCurveMirror } from "../../../page/mirror/curve_mirror.ts";
import { assetsOf } from "../../../page/server/assets.ts";
import { mostReviews } from "../../../page/api/scope.ts";
import { createTokenSite } from "../../../page/server/token_site.ts";
import { startHealthServer } from "../../manager/health.ts";
import { createJobCaches, createViewOfCaches } from "../../../page/api/job_view.ts";
import { createManagerAccess } from "../../../page/user_cluster/manager_access.ts";
import type { uiSettings } from "../../configuration/ui_settings.ts";
import { readAuthorities } from "../../tls_files.ts";
import { servingIdentity } from "./serving_identity.ts";

const log = getLogger(["milepost", "page"]);

/**
 * Reviews a second. A viewer of two kinds in one namespace causes about one in two seconds: each minute those of its
 * stream, for each kind that is served, and the sparklines those that are not believed any more.
 */
const REVIEWS_PER_SECOND = 600;
/** New tokens, and wrong ones, of one address: a proxy has all viewers behind it. */
const PER_PEER = { ratePerSecond: 20, burst: 400 } as const;
const MAX_PEERS = 10_000;
/** Connections of browsers, each of which has up to six, or of a proxy. */
const LIMITS: ServerLimits = { ...DEFAULT_SERVER_LIMITS, connections: connectionsInAll(4_096) };
/** For requests in hand at the end, in milliseconds. */
const DRAIN_MS = 5_000;
const CLOSE_MS = 500;

/** Its settings. */
export type ClusterUiOptions = Omit<
  z.infer<typeof uiSettings>,
  "inCluster" | "kubeconfig" | "context" | "namespace" | "json" | "managerService" | "logLevel"
>;

/** Names under which the Service, or a port-forward, leads here. */
function hostsOf({ serviceName, managerNamespace, uiHosts }: ClusterUiOptions): string[] {
  const service = `${serviceName}.${managerNamespace}`;
  const own = [serviceName, service, `${service}.svc`, `${service}.svc.cluster.local`];
  return [...new Set([...uiHosts, ...own, "localhost", "127.0.0.1", "[::1]"])].map((it) =>
    it.toLowerCase()
  );
}

function managerOf(
  { managerUrl, managerToken = UI.managerToken, managerCa, managerNamespace }: ClusterUiOptions,
) {
  return createManagerAccess({
    url: managerUrl ?? `https://${MANAGER.name}.${managerNamespace}.svc:${PORTS.status}`,
    token: () => readFileSync(managerToken, "utf8").trim(),
    caBundle: () => readAuthorities("--manager-ca", managerCa),
  });
}

/** Starts it; it serves at once, and is ready when its caches are filled. Leaves nothing running if it throws. */
export async function startClusterUi(
  options: ClusterUiOptions,
  { connection, clock = systemClock }: { readonly connection: Connection; readonly clock?: Clock },
) {
  const { bindAddress: hostname } = options;
  const loops = new AbortController();
  const hosts = hostsOf(options);
  const identity = await servingIdentity(options, {
    hosts: hosts.map((it) => it.replace(/^\[(.*)\]$/, "$1")),
    clock,
  });
  await using cleanup = new AsyncDisposableStack();
  const client = createClient({ connection, clock });
  cleanup.defer(() => client.close());
  const viewers = createTokenClients({ connection, clock });
  cleanup.defer(() => viewers.close());
  const manager = managerOf(options);
  cleanup.defer(() => manager.close());
  const readers = createReaders({
    audience: OBSERVATION_AUDIENCE,
    client,
    clock,
    peers: createPeers({ failures: PER_PEER, maxKeys: MAX_PEERS }),
    reviewsPerSecond: REVIEWS_PER_SECOND,
    reviewsAtOnce: mostReviews(JOB_KINDS.all.length),
    apiTokens: true,
    apiReviewsPerPeer: PER_PEER,
    onReview: () => {},
  });
  cleanup.defer(() => readers.close());
  const mirror = createCurveMirror({ manager: () => manager.client, clock });
  cleanup.defer(() => mirror.close());
  const caches = createJobCaches({ client, clock, kinds: JOB_KINDS });
  const view = createViewOfCaches({
    kinds: JOB_KINDS,
    caches,
    readers,
    ask: mirror.ask,
    follow: mirror.follow,
    streams: { total: options.maxStreams, perSubject: options.maxStreamsPerSubject },
  });
  cleanup.defer(() => view.close());
  let isStopping = false;
  const ready = () => !isStopping && [...caches.values()].every(({ wasSynced }) => wasSynced);
  const health = await startHealthServer({
    port: options.healthPort,
    hostname,
    clock,
    checks: [{ name: "caches", ready }],
  });
  cleanup.defer(() => health.close(CLOSE_MS));
  const running = Promise.all([...caches.values()].map((it) => it.run(loops.signal)));
  cleanup.defer(async () => {
    loops.abort();
    await running;
  });
  const server = await startServer({
    name: "page",
    port: options.uiPort,
    portSetting: "--ui-port",
    hostname,
    clock,
    limits: LIMITS,
    tls: identity.first,
    handle: createTokenSite({
      assets: assetsOf(PAGE_ASSET_LIST),
      hosts,
      kinds: JOB_KINDS,
      clock,
      readers,
      view: view.handle,
      clientOf: viewers.of,
      managerOf: manager.withToken,
    }),
    refusesWhileClosing: true,
  });
  const following = identity.follow((next) => server.updateTls(next), loops.signal);
  cleanup.defer(() => server.close(DRAIN_MS));
  running.catch((error) => log.error("the caches failed", { problem: messageOf(error) }));
  log.info("serving", { port: server.port, hosts });
  const started = cleanup.move();
  return {
    port: server.port,
    healthPort: health.port,
    /** Whether its caches are filled. */
    ready,
    async stop(): Promise<void> {
      isStopping = true;
      await started.disposeAsync();
      await following;
    },
  };
}
