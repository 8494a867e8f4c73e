/** Wiring of pushes: the status endpoint of this replica, and forwarding to the owner of the state. */
import { MANAGER } from "../../crds/names.ts";
import type { ObservationApi } from "../../katib/api/observation_api.ts";
import type { HttpHandler } from "../../http/message.ts";
import type { ReplicaTls } from "../../http/replicas/calls.ts";
import { createForwardClient } from "../../status/replicas/forward_client.ts";
import { startForwardListener } from "../../status/replicas/forward_listener.ts";
import { createOwnerRouter } from "../../http/replicas/owner_router.ts";
import type { ServingCertificates } from "../../webhook/certificate_manager.ts";
import type { ManagerContext, ManagerParts } from "./manager_parts.ts";
import { addressText } from "./replica.ts";
import { serveObservations } from "./observations.ts";
import { createObservationsHere, type ObservationsHere } from "./observations_here.ts";
import { serveReads } from "../../status/reading/read_serving.ts";
import { serveStatus } from "./serving.ts";
import { createFindJob, createStatusEndpoint } from "./status_endpoint.ts";

/** The running status endpoint and forwarding. */
export interface PushServing {
  /** Of the status endpoint. */
  readonly port: number;
  /** `<ip>:<port>` to which other replicas forward pushes; undefined without leader election. */
  readonly forwardAddress: string | undefined;
  /** Returns whether tokens can be verified. */
  ready(): boolean;
  /** Refreshes the API server's keys until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Accepts no new pushes from clients, and returns those in progress. */
  drain(deadlineMs: number): Promise<void>;
  /** Ends forwarding in both directions, and everything else. */
  close(deadlineMs: number): Promise<void>;
}

/** Options of {@link servePushes}. */
export interface PushServingOptions {
  readonly context: ManagerContext;
  readonly parts: ManagerParts;
  /** Under which other replicas reach this one. */
  readonly replicaHost: string;
}

const clientTls = ({ replica, caBundle }: ServingCertificates): ReplicaTls => ({
  cert: replica.certificate,
  key: replica.key,
  ca: caBundle,
});
const serverTls = ({ cert, key, caBundle }: ServingCertificates): ReplicaTls => ({
  cert,
  key,
  ca: caBundle,
});

/** Listens for pushes that other replicas forward. */
async function listenForForwards(options: PushServingOptions, here: ObservationsHere) {
  const { context: { kinds, configuration, clock }, parts } = options;
  const { certificates, leadership, owned } = parts;
  const listener = await startForwardListener({
    kinds,
    port: configuration.forwardPort,
    hostname: configuration.bindAddress,
    tls: serverTls(certificates.current()),
    clientName: MANAGER.replicaCertificateName,
    term: () => ({
      leading: leadership.active,
      transitions: leadership.transitions,
    }),
    acceptHere: owned.accept,
    pollHere: owned.poll,
    observations: { answerHere: here.answerForwarded, pollHere: here.poll },
    clock,
  });
  const stop = certificates.onChange(() => listener.updateTls(serverTls(certificates.current())));
  return { listener, stop };
}

function createForwarder(
  { context: { kinds, configuration, clock, metrics }, parts }: PushServingOptions,
) {
  const { certificates } = parts;
  const { serviceName: service, namespace } = configuration;
  const client = createForwardClient({
    kinds,
    tls: clientTls(certificates.current()),
    serverName: `${service}.${namespace}.svc`,
    clock,
    onForward: (result) => metrics.forwardedPushes.inc({ result }),
  });
  const stop = certificates.onChange(() => client.updateTls(clientTls(certificates.current())));
  return { client, stop };
}

/** Routes observations to their API and everything else to the status endpoint. */
function byPath(api: ObservationApi, pushes: HttpHandler): HttpHandler {
  return (request) => api.handles(request.url) ? api.handle(request) : pushes(request);
}

/** Starts to accept pushes. Leaves nothing running if it throws. */
export async function servePushes(options: PushServingOptions): Promise<PushServing> {
  const { context, parts } = options;
  const { configuration, clock } = context;
  const { owned } = parts;
  await using cleanup = new AsyncDisposableStack();
  const here = createObservationsHere(context, () => parts.recording?.trials.observations);
  cleanup.defer(here.close);
  const forwards = configuration.leaderElect ? await listenForForwards(options, here) : undefined;
  let closeMs = 0;
  cleanup.defer(() => forwards?.listener.close(closeMs));
  const forwarder = createForwarder(options);
  cleanup.defer(() => {
    forwards?.stop();
    forwarder.stop();
    forwarder.client.close();
  });
  const { forward, read } = forwarder.client;
  const reading = serveReads({
    jobs: parts.caches.byKind,
    clock,
    maxStreams: {
      total: configuration.maxStreams,
      perSubject: configuration.maxStreamsPerSubject,
    },
    onOpenStreams: (open) => context.metrics.openStreams.set(open),
    pollHere: owned.poll,
    leader: parts.leadership,
    forward: read,
  });
  cleanup.defer(() => reading.close());
  const endpoint = createStatusEndpoint({
    ...context,
    caches: parts.caches,
    accept: createOwnerRouter({
      leader: parts.leadership,
      acceptHere: owned.accept,
      forward,
      clock,
    }),
    reading,
  });
  cleanup.defer(() => endpoint.close());
  const api = serveObservations({
    ...context,
    ...parts,
    ...reading,
    peers: endpoint.peers,
    findJob: createFindJob({ ...context, ...parts }),
    here,
    forward: forwarder.client,
  });
  cleanup.defer(() => api.close());
  const server = await serveStatus({ ...context, ...parts }, {
    handler: byPath(api, endpoint.handler),
    refuses: endpoint.peers.refuseConnection,
  });
  const started = cleanup.move();
  return {
    port: server.port,
    forwardAddress: forwards && addressText(options.replicaHost, forwards.listener.port),
    ready: endpoint.ready,
    run: endpoint.run,
    drain: server.close,
    close: (deadlineMs) => {
      closeMs = deadlineMs;
      return started.disposeAsync();
    },
  };
}
