/** Handler of the status endpoint: runs requests through their chains. Knows no socket. */
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import { getLogger } from "@logtape/logtape";
import { HISTORY_LIMITS } from "../../crds/names.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { type Answer, createApi } from "../../platform/http/api_shell.ts";
import { notNow, type RequestResult } from "../../platform/http/refusals.ts";
import { UNKNOWN_PATH } from "./status_refusals.ts";
import { type Exchange, required } from "./exchange.ts";
import type { AcceptPush, ControlNow } from "../../crds/wire/push_answer.ts";
import type { PushOrigin } from "../../crds/wire/push.ts";
import type { HttpHandler } from "../../platform/http/message.ts";
import { createBearerReader } from "../../platform/http/callers/bearer.ts";
import type { Ownership } from "../ownership/ownership.ts";
import { createPeers, type Peers } from "../../platform/http/limits/peers.ts";
import type { ReadingParts } from "../reading/read_stages.ts";
import { peerFailures } from "./caller.ts";
import { createChains } from "./stages.ts";
import { type StatusRoute, statusRoutes, takeRoute } from "./status_routes.ts";
import { type BucketLimits, createKeyedBuckets } from "../../platform/base/token_bucket.ts";
import type { ReviewCache } from "../../platform/http/callers/token_review.ts";
import type { TokenVerifier } from "../../platform/http/callers/token_verification.ts";

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
export interface PushHandlerOptions {
  /** The kinds of jobs whose pods may push. */
  readonly kinds: JobKinds;
  readonly verifier: TokenVerifier;
  readonly ownership: Pick<Ownership, "decide">;
  /** Absent: tokens are checked locally only. */
  readonly reviews?: Pick<ReviewCache, "known" | "review">;
  /** Returns whether the review of a push's token is waited for. Default: never. */
  readonly awaitsReview?: (origin: PushOrigin) => boolean;
  readonly accept: AcceptPush;
  /** What an empty push is answered. Default: nothing. */
  readonly controlNow?: ControlNow;
  /** How long `accept` may take. Default 3 s: clients give up after 5. */
  readonly acceptDeadlineMs?: number;
  /** Absent: nothing can be read. */
  readonly reading?: ReadingParts;
  readonly clock: Clock;
  readonly limits?: Partial<PushRateLimits>;
  /** Record of peers, which the server shares. Default: one of this handler's own. */
  readonly peers?: Peers;
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
  const { clock, onPush, onRead, verifier, ownership, reviews, accept } = options;
  const { awaitsReview = () => false, acceptDeadlineMs = 3000 } = options;
  const { controlNow = () => undefined } = options;
  const limits = { ...DEFAULT_RATE_LIMITS, ...options.limits };
  const { failuresPerPeer: failures, maxKeys } = limits;
  const peers = options.peers ?? createPeers({ failures, maxKeys });
  const podPushes = createKeyedBuckets(limits.pushesPerPod, limits.maxKeys);
  const podHistories = createKeyedBuckets(HISTORY_LIMITS.perPod, limits.maxKeys);
  const subjectHistories = createKeyedBuckets(HISTORY_LIMITS.perSubject, limits.maxKeys);
  const samples = {
    pods: createKeyedBuckets(HISTORY_LIMITS.samplesPerPod, limits.maxKeys),
    subjects: createKeyedBuckets(HISTORY_LIMITS.samplesPerSubject, limits.maxKeys),
    all: createKeyedBuckets(HISTORY_LIMITS.samplesInAll, 1),
  };
  const subjectPushes = createKeyedBuckets(limits.pushesPerSubject, limits.maxKeys);
  const log = getLogger(["milepost", "status"]);
  const chains = createChains({
    verifier,
    ownership,
    reviews,
    awaitsReview,
    accept,
    controlNow,
    acceptDeadlineMs,
    reading: options.reading,
    clock,
    podPushes,
    subjectPushes,
    podHistories,
    subjectHistories,
    samples,
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
