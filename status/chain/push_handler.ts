/** Handler of the status endpoint: runs requests through their chains. Knows no socket. */
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import { getLogger } from "@logtape/logtape";
import { HISTORY_LIMITS } from "../../crds/names.ts";
import { HEARTBEAT_LIMITS } from "../../crds/wire/heartbeat.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { type Answer, createApi } from "../../platform/http/api_shell.ts";
import { notNow, type RequestResult } from "../../platform/http/refusals.ts";
import { UNKNOWN_PATH } from "./status_refusals.ts";
import { type Exchange, required } from "./exchange.ts";
import type { HttpHandler } from "../../platform/http/message.ts";
import { createBearerReader } from "../../platform/http/callers/bearer.ts";
import type { Peers } from "../../platform/http/limits/peers.ts";
import { peerFailures } from "./caller.ts";
import { type ChainOptions, createChains } from "./stages.ts";
import { type StatusRoute, statusRoutes, takeRoute } from "./status_routes.ts";
import { type BucketLimits, createKeyedBuckets } from "../../platform/base/token_bucket.ts";

/** Rates by peer address, pod and subject. */
export interface PushRateLimits {
  /** Failed authentications by peer address. Default 20 a second, 200 at once. */
  readonly failuresPerPeer: BucketLimits;
  /** Pushes by pod. Default 20 a second, 100 at once. */
  readonly pushesPerPod: BucketLimits;
  /** Pushes by service account. Default 2000 a second, 5000 at once. */
  readonly pushesPerSubject: BucketLimits;
  /** Number of peers, of pods and of subjects that are remembered. Default 50000. */
  readonly maxKeys: number;
}

/** Default limits. */
export const DEFAULT_RATE_LIMITS: PushRateLimits = {
  failuresPerPeer: { ratePerSecond: 20, burst: 200 },
  pushesPerPod: { ratePerSecond: 20, burst: 100 },
  pushesPerSubject: { ratePerSecond: 2000, burst: 5000 },
  maxKeys: 50_000,
};

/** Options of {@link createPushHandler}. */
export interface PushHandlerOptions extends ChainOptions {
  /** The kinds of jobs whose pods may push. */
  readonly kinds: JobKinds;
  readonly limits?: Partial<PushRateLimits>;
  /** Record of peers, which the server shares. */
  readonly peers: Peers;
  /** `pushes_total{result}` and `push_seconds`. */
  readonly onPush?: (result: RequestResult, seconds: number) => void;
  /** `reads_total{kind,result}`: a read once, or the beginning of a stream. */
  readonly onRead?: (kind: "read" | "watch", result: RequestResult) => void;
}

const NOT_CHECKED = notNow(comeAgain("the request could not be checked now: try again soon"));

/** The job, and who called, as log fields. */
const logged = ({ job, identity }: Exchange) => ({
  ...(job && { kind: job.kind.kind, namespace: job.namespace, name: job.name }),
  subject: identity?.subject,
});

/** Creates the handler of pushes. */
export function createPushHandler(options: PushHandlerOptions): HttpHandler {
  const { clock, onPush, onRead, verifier, peers } = options;
  const { maxKeys, ...limits } = { ...DEFAULT_RATE_LIMITS, ...options.limits };
  const log = getLogger(["milepost", "status"]);
  const chains = createChains({
    ...options,
    podPushes: createKeyedBuckets(limits.pushesPerPod, maxKeys),
    subjectPushes: createKeyedBuckets(limits.pushesPerSubject, maxKeys),
    podBeats: createKeyedBuckets(HEARTBEAT_LIMITS.perPod, maxKeys),
    podHistories: createKeyedBuckets(HISTORY_LIMITS.perPod, maxKeys),
    subjectHistories: createKeyedBuckets(HISTORY_LIMITS.perSubject, maxKeys),
    samples: {
      pods: createKeyedBuckets(HISTORY_LIMITS.samplesPerPod, maxKeys),
      subjects: createKeyedBuckets(HISTORY_LIMITS.samplesPerSubject, maxKeys),
      all: createKeyedBuckets(HISTORY_LIMITS.samplesInAll, 1),
    },
  });

  /** An outage is logged once, not once for each request; it ends with the next request that is accepted. */
  let outage = false;

  async function run(exchange: Exchange): Promise<Answer> {
    try {
      for (const stage of chains[required(exchange.chain, "chain")]) {
        const outcome = stage.run(exchange);
        // Only a stage that waits for something costs a turn.
        const refusal = outcome instanceof Promise ? await outcome : outcome;
        if (refusal !== undefined) return refusal;
      }
      return required(exchange.response, "answer");
    } finally {
      exchange.release?.();
    }
  }

  const readBearer = createBearerReader((hash) => verifier.known(hash) !== undefined);

  const { handle } = createApi<Exchange, StatusRoute>({
    log,
    routes: statusRoutes(options.kinds),
    unknownPath: UNKNOWN_PATH,
    peers,
    arrive: (request) => ({
      request,
      peer: request.peer,
      nowMs: clock.now(),
      monotonicMs: clock.monotonic(),
      bearer: readBearer(request),
    }),
    admit: peerFailures(peers, verifier),
    answer: (exchange, route, names) => takeRoute(exchange, route, names) ?? run(exchange),
    unreachable(problem, exchange) {
      const message = "requests cannot be checked, clients are asked to try again";
      log[outage ? "debug" : "warn"](message, { ...logged(exchange), problem });
      outage = true;
      return NOT_CHECKED;
    },
    onAnswer({ chain, peer, monotonicMs, jobUid }, result) {
      // The token is good, and its pod is part of the job.
      if (jobUid !== undefined) peers.proved(peer, monotonicMs);
      if (result === "accepted") outage = false;
      if (chain === "read" || chain === "watch") onRead?.(chain, result);
      else onPush?.(result, (clock.monotonic() - monotonicMs) / 1000);
    },
    logged,
  });
  return handle;
}
