/** TokenReview once a token: what the API server itself says of a token that looks good. */
import { getLogger } from "@logtape/logtape";
import { LRUCache } from "lru-cache";
import { KINDS } from "../crds/kinds.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Clock } from "../kube/clock.ts";
import { messageOf } from "../kube/errors.ts";
import { type Bucket, type BucketLimits, take } from "./token_bucket.ts";
import type { TokenIdentity } from "./token_verification.ts";

/** A token to review. */
export interface ReviewRequest {
  /** Hash of the token, under which the outcome is remembered. */
  readonly hash: string;
  readonly token: string;
  readonly audience: string;
  readonly identity: TokenIdentity;
}

/** What is known of a token: `unavailable` where the API server gave no answer, or no budget is left. */
export type ReviewOutcome = "authenticated" | "refused" | "unavailable";

/** Asks the API server. False: it does not accept the token. Throws where it gives no answer. */
export type ReviewToken = (request: ReviewRequest, signal: AbortSignal) => Promise<boolean>;

/** Outcomes by hash, until the token expires. */
export interface ReviewCache {
  /** What is known without asking. */
  known(hash: string): "authenticated" | "refused" | undefined;
  /** Asks, unless it is known; askers of one token share the question. Never throws. */
  review(request: ReviewRequest): Promise<ReviewOutcome>;
  /** Ends what runs, and resolves when nothing does. */
  close(): Promise<void>;
}

/** Options of {@link createReviewCache}. */
export interface ReviewCacheOptions {
  readonly ask: ReviewToken;
  readonly clock: Clock;
  /** Called once for a token that the API server refused, before anybody is told. */
  readonly onRefused: (hash: string) => void;
  /** Reviews a second (`--token-review-qps`). Default 50. */
  readonly reviewsPerSecond?: number;
  /** Outcomes remembered. Default 20000. */
  readonly maxTokens?: number;
  /** How long no question is asked again after one without answer. Default 5 s. */
  readonly pauseMs?: number;
  /** `token_reviews_total{result}`. */
  readonly onReview?: (result: ReviewOutcome | "over_budget") => void;
}

interface Entry {
  readonly outcome: ReviewOutcome;
  /** Wall-clock time. */
  readonly untilMs: number;
}

/** Creates a {@link ReviewCache} with bounded memory and a budget. */
export function createReviewCache(options: ReviewCacheOptions): ReviewCache {
  const { ask, clock, onRefused, onReview, maxTokens = 20_000, pauseMs = 5000 } = options;
  const rate = options.reviewsPerSecond ?? 50;
  const limits: BucketLimits = { ratePerSecond: rate, burst: Math.max(1, rate) };
  const log = getLogger(["milepost", "status"]);
  const entries = new LRUCache<string, Entry>({ max: maxTokens });
  const inFlight = new Map<string, Promise<ReviewOutcome>>();
  const closing = new AbortController();
  let budget: Bucket | undefined;
  /** The API server gave no answer the last time: told once, not once a token. */
  let outage = false;

  function entryOf(hash: string): Entry | undefined {
    const entry = entries.get(hash);
    if (entry === undefined || clock.now() < entry.untilMs) return entry;
    entries.delete(hash);
    return undefined;
  }

  function remember(request: ReviewRequest, outcome: ReviewOutcome): ReviewOutcome {
    const untilMs = outcome === "unavailable"
      ? clock.now() + pauseMs
      : request.identity.expiresMs + 60_000;
    entries.set(request.hash, { outcome, untilMs });
    if (outcome === "refused") onRefused(request.hash);
    onReview?.(outcome);
    return outcome;
  }

  async function askNow(request: ReviewRequest): Promise<ReviewOutcome> {
    try {
      const accepted = await ask(request, closing.signal);
      if (outage) log.info("tokens can be reviewed again");
      outage = false;
      return remember(request, accepted ? "authenticated" : "refused");
    } catch (error) {
      if (closing.signal.aborted) return "unavailable";
      log[outage ? "debug" : "warn"]("tokens cannot be reviewed, trying again", {
        subject: request.identity.subject,
        problem: messageOf(error),
      });
      outage = true;
      return remember(request, "unavailable");
    }
  }

  function start(request: ReviewRequest): Promise<ReviewOutcome> {
    const taken = take(budget, clock.monotonic(), limits);
    budget = taken.bucket;
    if (taken.waitMs > 0 || closing.signal.aborted) {
      onReview?.("over_budget");
      return Promise.resolve("unavailable");
    }
    const started = askNow(request).finally(() => inFlight.delete(request.hash));
    inFlight.set(request.hash, started);
    return started;
  }

  return {
    known(hash) {
      const outcome = entryOf(hash)?.outcome;
      return outcome === "unavailable" ? undefined : outcome;
    },
    review(request) {
      const entry = entryOf(request.hash);
      if (entry !== undefined) return Promise.resolve(entry.outcome);
      return inFlight.get(request.hash) ?? start(request);
    },
    async close() {
      closing.abort();
      await Promise.all(inFlight.values());
    },
  };
}

/** Extra of a reviewed user that names the UID of the pod that the token is bound to. */
const POD_UID_EXTRA = "authentication.kubernetes.io/pod-uid";
const REVIEW_DEADLINE_MS = 3000;

/** A {@link ReviewToken} over a client: the very user, audience and pod of the token, or false. */
export function createTokenReviewer(client: Pick<KubeClient, "create">): ReviewToken {
  return async ({ token, audience, identity }, signal) => {
    const review = await client.create(KINDS.tokenReview, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      metadata: {},
      spec: { token, audiences: [audience] },
    }, { signal, deadlineMs: REVIEW_DEADLINE_MS, heedRetryAfter: false });
    const { authenticated, audiences, user } = review.status ?? {};
    const podUids = user?.extra?.[POD_UID_EXTRA];
    return authenticated === true && user?.username === identity.subject &&
      audiences?.includes(audience) === true &&
      (podUids === undefined || podUids.includes(identity.pod?.uid ?? ""));
  };
}
