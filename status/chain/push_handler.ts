/** Handler of the status endpoint: runs requests through their chains. Knows no socket. */
import { getLogger } from "@logtape/logtape";
import { HISTORY_LIMITS } from "../../crds/names.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { KubeError, messageOf, TransportError } from "../../platform/kube/errors.ts";
import {
  notNow,
  OVERLOADED_MS,
  type Refusal,
  refusalResponse,
  type RequestResult,
  resultOf,
} from "../../platform/http/refusals.ts";
import { refuse, type StatusReason } from "./status_refusals.ts";
import { type Exchange, required } from "./exchange.ts";
import type { AcceptPush, ControlNow } from "../../crds/wire/push_answer.ts";
import type { PushOrigin } from "../../crds/wire/push.ts";
import {
  ClientGoneError,
  type HttpHandler,
  type HttpResponse,
  OverloadedError,
} from "../../platform/http/message.ts";
import { createBearerReader } from "../../platform/http/callers/bearer.ts";
import type { Ownership } from "../ownership/ownership.ts";
import { createPeers, type Peers } from "../../platform/http/limits/peers.ts";
import type { ReadingParts } from "../reading/read_stages.ts";
import { createChains } from "./stages.ts";
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

/**
 * Refusals that cost nothing: no signature was checked, or it was one of the API server's own, which
 * happens once for each token.
 */
const COSTLESS_REFUSALS: ReadonlySet<string> = new Set<StatusReason>([
  "no_token",
  "malformed_token",
  "refused_before",
  "expired",
  "not_yet_valid",
  "wrong_audience",
  "revoked",
]);

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

const NOT_CHECKED = notNow({
  reason: "the request could not be checked now: try again soon",
  retryAfterMs: 1000,
});

/** The job as log fields. */
function loggedJob({ job }: Exchange) {
  return job && { kind: job.kind.kind, namespace: job.namespace, name: job.name };
}

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
    kinds: options.kinds,
    verifier,
    ownership,
    reviews,
    awaitsReview,
    accept,
    controlNow,
    acceptDeadlineMs,
    reading: options.reading,
    clock,
    peers,
    podPushes,
    subjectPushes,
    podHistories,
    subjectHistories,
    samples,
  });

  /** An outage is logged once, not once for each request; it ends with the next request that is accepted. */
  let outage = false;

  /** Returns the refusal for an error: an API server without an answer, a client that went away, or a bug. */
  function failure(error: unknown, exchange: Exchange): Refusal {
    const job = loggedJob(exchange);
    if (error instanceof ClientGoneError) {
      log.debug("a client went away before its request was read", job);
      return NOT_CHECKED;
    }
    if (error instanceof OverloadedError) {
      return notNow({ reason: error.message, retryAfterMs: OVERLOADED_MS });
    }
    if (!(error instanceof KubeError || error instanceof TransportError)) {
      log.error("a request could not be handled", { ...job, error });
      return refuse("internal");
    }
    log[outage ? "debug" : "warn"]("requests cannot be checked, clients are asked to try again", {
      ...job,
      problem: messageOf(error),
    });
    outage = true;
    return NOT_CHECKED;
  }

  async function judge(exchange: Exchange): Promise<Refusal | undefined> {
    try {
      const refused = chains.admit(exchange);
      if (refused !== undefined) return refused;
      for (const stage of chains[required(exchange.chain, "chain")]) {
        const outcome = stage.run(exchange);
        // Only a stage that waits for something costs a turn.
        const refusal = outcome instanceof Promise ? await outcome : outcome;
        if (refusal !== undefined) return refusal;
      }
      return undefined;
    } catch (error) {
      return failure(error, exchange);
    } finally {
      exchange.release?.();
    }
  }

  function answer(exchange: Exchange, refusal: Refusal | undefined): HttpResponse {
    // The token is good, and its pod is part of the job.
    if (exchange.jobUid !== undefined) peers.proved(exchange.peer, exchange.monotonicMs);
    if (refusal === undefined) {
      outage = false;
      return required(exchange.response, "answer");
    }
    if (resultOf(refusal) === "unauthorized") {
      const cost = COSTLESS_REFUSALS.has(refusal.why) ? "nothing" : "signature";
      peers.failed(exchange.peer, exchange.monotonicMs, cost);
    }
    const subject = exchange.identity?.subject;
    log.debug("a request was refused", { ...loggedJob(exchange), why: refusal.why, subject });
    return refusalResponse(refusal);
  }

  function count({ chain, monotonicMs }: Exchange, result: RequestResult): void {
    if (chain === "read" || chain === "watch") onRead?.(chain, result);
    else onPush?.(result, (clock.monotonic() - monotonicMs) / 1000);
  }

  const readBearer = createBearerReader((hash) => verifier.known(hash) !== undefined);

  return async (request) => {
    const exchange: Exchange = {
      request,
      peer: request.peer,
      nowMs: clock.now(),
      monotonicMs: clock.monotonic(),
      bearer: readBearer(request),
    };
    const refusal = await judge(exchange);
    const response = answer(exchange, refusal);
    count(exchange, refusal === undefined ? "accepted" : resultOf(refusal));
    return response;
  };
}
