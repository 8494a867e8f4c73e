/** Wiring of pushes: the status endpoint of this replica, and forwarding to the owner of the state. */
import type { JobKind } from "../../crds/job_kind.ts";
import { MANAGER, OBSERVATION_AUDIENCE } from "../../crds/names.ts";
import { createReaders } from "../../platform/http/callers/readers.ts";
import { createStreamSlots } from "../../platform/http/limits/stream_limits.ts";
import type { HttpHandler } from "../../platform/http/message.ts";
import { createOwnerRouter } from "../../platform/http/replicas/owner_router.ts";
import type { Api } from "../../platform/http/api_shell.ts";
import { serveObservations } from "../../katib/api/observation_serving.ts";
import { observationAsks, pagesAsks } from "../../owner/observations/observation_asks.ts";
import { restartAsks } from "../../owner/restarts/restart_asks.ts";
import { stopAsks } from "../../owner/observations/stop_asks.ts";
import type { AskKind } from "../../owner/ask_kind.ts";
import { statusAsks } from "../../owner/ledger/status_asks.ts";
import { beatAsks, createBeatOutbox } from "../../owner/stalls/beat_asks.ts";
import { createOwnerClient } from "../../owner/owner_client.ts";
import { createLogZoom } from "../../owner/curves/log_zoom.ts";
import { curveAsks } from "../../owner/curves/curve_asks.ts";
import { mostReviews } from "../../page/api/scope.ts";
import { createJobView } from "../../page/api/job_view.ts";
import { createJobEnds } from "../../status/reading/job_ends.ts";
import { createForwardClient } from "../../owner/replicas/forward_client.ts";
import { startForwardListener } from "../../owner/replicas/forward_listener.ts";
import type { ManagerContext, ManagerParts } from "./manager_parts.ts";
import { addressText } from "./replica.ts";
import { serveStatus } from "./serving.ts";
import { createFindJob, createStatusEndpoint } from "./status_endpoint.ts";

/** Dependencies of {@link servePushes}. */
export interface PushServingOptions
  extends
    Pick<ManagerContext, "kinds" | "client" | "clock" | "configuration" | "metrics" | "caps">,
    Pick<
      ManagerParts,
      "caches" | "certificates" | "leadership" | "owned" | "bodyBudget" | "shedding"
    > {
  /** Whether a kind is run, or watched, now. */
  readonly isRun: (kind: JobKind) => boolean;
  /** Host under which other replicas reach this one. */
  readonly replicaHost: string;
}

/** Listens for calls that other replicas forward. */
async function listenForForwards(
  options: PushServingOptions,
  asks: readonly AskKind<unknown, object>[],
) {
  const { kinds, configuration, clock, certificates, leadership, owned } = options;
  const tls = () => {
    const { cert, key, caBundle: ca } = certificates.current();
    return { cert, key, ca };
  };
  const listener = await startForwardListener({
    kinds,
    port: configuration.forwardPort,
    hostname: configuration.bindAddress,
    tls: tls(),
    clientName: MANAGER.replicaCertificateName,
    term: () => ({
      leading: leadership.active,
      transitions: leadership.transitions,
    }),
    owned,
    asks,
    clock,
  });
  const stop = certificates.onChange(() => listener.updateTls(tls()));
  return { listener, stop };
}

function createForwarder(
  { configuration, clock, metrics, certificates }: PushServingOptions,
) {
  const { serviceName: service, namespace } = configuration;
  const client = createForwardClient({
    tls: certificates.current().replica,
    serverName: `${service}.${namespace}.svc`,
    clock,
    onForward: (result) => metrics.forwardedPushes.inc({ result }),
  });
  const stop = certificates.onChange(() => client.updateTls(certificates.current().replica));
  return { client, stop };
}

/** Routes observations and the page to their APIs, and everything else to the status endpoint. */
function byPath(
  apis: readonly Pick<Api, "handles" | "handle">[],
  pushes: HttpHandler,
): HttpHandler {
  return (request) => {
    const api = apis.find((it) => it.handles(request.url));
    return api === undefined ? pushes(request) : api.handle(request);
  };
}

/** The running status endpoint and forwarding. */
export type PushServing = Awaited<ReturnType<typeof servePushes>>;

/** Starts to accept pushes. Leaves nothing running if it throws. */
export async function servePushes(options: PushServingOptions) {
  const { kinds, client, clock, configuration, metrics, caches, leadership, owned } = options;
  await using cleanup = new AsyncDisposableStack();
  const zoom = createLogZoom({
    readLog: async (...query) => await owned.term?.observations?.pageOf(...query),
    clock,
  });
  const curves = curveAsks({ kinds, clock, zoom });
  const beats = beatAsks(kinds);
  const forwards = configuration.leaderElect
    ? await listenForForwards(options, [
      statusAsks(kinds),
      observationAsks(kinds),
      pagesAsks(kinds),
      stopAsks(kinds),
      restartAsks(kinds),
      beats,
      curves,
    ])
    : undefined;
  let closeMs = 0;
  cleanup.defer(() => forwards?.listener.close(closeMs));
  const forwarder = createForwarder(options);
  cleanup.defer(() => {
    forwards?.stop();
    forwarder.stop();
    forwarder.client.close();
  });
  const owner = createOwnerClient({ leader: leadership, owned, forward: forwarder.client, clock });
  cleanup.defer(owner.close);
  const ends = createJobEnds(caches.byKind);
  cleanup.defer(ends.close);
  const { maxStreams: total, maxStreamsPerSubject: perSubject } = configuration;
  const slots = createStreamSlots({ total, perSubject }, (open) => metrics.openStreams.set(open));
  const outbox = createBeatOutbox({
    here: () => owned.term?.stalls.beat,
    ask: owner.asks(beats),
    clock,
  });
  const endpoint = createStatusEndpoint({
    ...options,
    beat: outbox.take,
    accept: createOwnerRouter({
      leader: leadership,
      here: owned.accept,
      forward: forwarder.client.forward,
      clock,
    }),
    reading: {
      read: owner.asks(statusAsks(kinds)),
      follow: owner.follow.status,
      slots,
      onJobEnd: ends.on,
    },
  });
  cleanup.defer(() => endpoint.close());
  const readers = createReaders({
    audience: OBSERVATION_AUDIENCE,
    client,
    clock,
    peers: endpoint.peers,
    reviewsPerSecond: configuration.tokenReviewQps,
    reviewsAtOnce: mostReviews(kinds.all.length),
    apiTokens: configuration.readWithApiTokens,
    onReview: (result) => metrics.tokenReviews.inc({ result }),
  });
  cleanup.defer(() => readers.close());
  const api = serveObservations({
    readers,
    kinds,
    clock,
    jobs: caches.byKind,
    trials: caches.trials,
    slots,
    findJob: createFindJob({ client, caches, clock }),
    owner,
    onJobEnd: ends.on,
    onRead: (kind, result) => metrics.reads.inc({ kind, result }),
    onChange: (verb, result) =>
      (verb === "stop" ? metrics.stopRequests : metrics.restartRequests).inc({ result }),
  });
  cleanup.defer(() => api.close());
  const view = createJobView({
    readers,
    kinds,
    runningKinds: () => kinds.all.filter(options.isRun),
    slots,
    jobs: caches.byKind,
    pushed: {
      newestOf: (uid) => owned.term?.statuses.newestOf(uid),
      onPush: owned.onPush,
      clock,
    },
    ask: owner.asks(curves),
    follow: owner.follow.curves,
    onRead: (kind, result) => metrics.reads.inc({ kind, result }),
  });
  cleanup.defer(() => view.close());
  const handler = byPath([api, view], endpoint.handler);
  const server = await serveStatus(options, { handler, peers: endpoint.peers });
  const started = cleanup.move();
  return {
    /** Of the status endpoint. */
    port: server.port,
    /** `<ip>:<port>` to which other replicas forward pushes; undefined without leader election. */
    forwardAddress: forwards && addressText(options.replicaHost, forwards.listener.port),
    /** Returns whether tokens can be verified. */
    ready: endpoint.ready,
    /** Refreshes the API server's keys, and hands heartbeats on, until `signal` aborts. */
    run: async (signal: AbortSignal): Promise<void> => {
      await Promise.all([endpoint.run(signal), outbox.run(signal)]);
    },
    /** Accepts no new pushes from clients, and returns those in progress. */
    drain: server.close,
    /** Ends forwarding in both directions, and everything else. */
    close: (deadlineMs: number) => {
      closeMs = deadlineMs;
      return started.disposeAsync();
    },
  };
}
