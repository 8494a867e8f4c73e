/** TokenReview once a token, for tokens whose signature is good. */
import type { Clock } from "../../base/clock.ts";
import { createRecentMemory } from "../../base/recent_memory.ts";
import { createReservedBudget } from "../limits/reserved_budget.ts";
import { createReviewCalls, type ReviewAnswer } from "./review_calls.ts";
import { boundPods, type RequestReview, type ReviewResult } from "./reviews.ts";
import { TOKEN_IDLE_MS, type TokenIdentity } from "./token_verification.ts";

/** A token to review. */
export interface ReviewRequest {
  /** Hash of the token, under which the outcome is remembered. */
  readonly hash: string;
  readonly token: string;
  readonly audience: string;
  readonly identity: TokenIdentity;
  /** Whether a client waits for it: such reviews come first if the budget is short. */
  readonly awaited: boolean;
}

/** Outcome of a review: `unavailable` if the API server gave no answer, or no budget is left. */
export type ReviewOutcome = "authenticated" | "refused" | "unavailable";

/** Returns whether the API server accepts the token. Throws if it gives no answer. */
export type ReviewToken = (request: ReviewRequest, signal: AbortSignal) => Promise<boolean>;

/** Outcomes by hash, until the token expires. */
export type ReviewCache = ReturnType<typeof createReviewCache>;

/** Options of {@link createReviewCache}. */
export interface ReviewCacheOptions {
  readonly ask: ReviewToken;
  readonly clock: Clock;
  /** Called once for a token that the API server refused, before anyone learns of it. */
  readonly onRefused: (hash: string) => void;
  /** Reviews a second (`--token-review-qps`). Default 50. */
  readonly reviewsPerSecond?: number;
  /** `token_reviews_total{result}`. */
  readonly onReview?: (result: ReviewResult) => void;
}

/** Outcomes that are remembered. */
const MAX_TOKENS = 20_000;
/** Pause after a question without an answer, before the token is asked about again, in milliseconds. */
const PAUSE_MS = 5000;

interface Entry {
  readonly outcome: ReviewOutcome;
  /** Wall-clock time. */
  readonly untilMs: number;
}

/** Creates a {@link ReviewCache} with bounded memory and a budget. */
export function createReviewCache(options: ReviewCacheOptions) {
  const { ask, clock, onRefused, onReview } = options;
  const reviews = createReviewCalls<ReviewOutcome>({
    clock,
    about: "tokens",
    take: createReservedBudget(options.reviewsPerSecond ?? 50),
  });
  const entries = createRecentMemory<Entry>({
    now: () => clock.monotonic(),
    max: MAX_TOKENS,
    idleMs: TOKEN_IDLE_MS,
  });

  function entryOf(hash: string): Entry | undefined {
    const entry = entries.get(hash);
    if (entry === undefined || clock.now() < entry.untilMs) return entry;
    entries.delete(hash);
    return undefined;
  }

  function remember(request: ReviewRequest, outcome: ReviewOutcome): ReviewOutcome {
    const untilMs = outcome === "unavailable"
      ? clock.now() + PAUSE_MS
      : request.identity.expiresMs + 60_000;
    entries.set(request.hash, { outcome, untilMs });
    if (outcome === "refused") onRefused(request.hash);
    onReview?.(outcome);
    return outcome;
  }

  /** A review that exceeds the budget is done with the token's next push. */
  function outcomeOf(asked: ReviewAnswer<ReviewOutcome>): ReviewOutcome {
    if (asked.answer === undefined && asked.why === "over_budget") onReview?.("over_budget");
    return asked.answer ?? "unavailable";
  }

  return {
    /** Returns what is known without a question. */
    known(hash: string): "authenticated" | "refused" | undefined {
      const outcome = entryOf(hash)?.outcome;
      return outcome === "unavailable" ? undefined : outcome;
    },
    /** Asks, unless it is known; askers of one token share the question. Never throws. */
    async review(request: ReviewRequest): Promise<ReviewOutcome> {
      const entry = entryOf(request.hash);
      if (entry !== undefined) return entry.outcome;
      const { hash, identity: { subject }, awaited: first } = request;
      return outcomeOf(
        await reviews.ask({
          key: hash,
          subject,
          first,
          ask: async (signal) => {
            const accepted = await ask(request, signal);
            return remember(request, accepted ? "authenticated" : "refused");
          },
          onNoAnswer: () => void remember(request, "unavailable"),
        }),
      );
    },
    /** Ends what runs, and resolves when nothing does. */
    close: (): Promise<void> => reviews.close(),
  };
}

/** A {@link ReviewToken}: the very user, audience and pod of the token, or false. */
export function createTokenReviewer(request: RequestReview): ReviewToken {
  return async ({ token, audience, identity }, signal) => {
    const user = await request(token, [audience], signal);
    if (user === undefined) return false;
    const { username, uid, audiences } = user;
    const { uids } = boundPods(user);
    return username === identity.subject && audiences.includes(audience) &&
      (uid === undefined || uid === identity.serviceAccount.uid) &&
      (uids === undefined || uids.includes(identity.pod?.uid ?? ""));
  };
}
