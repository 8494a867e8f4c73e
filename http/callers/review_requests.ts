/** TokenReviews: what is asked, and how often: one question a token at a time, within a budget. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import { messageOf } from "../../kube/errors.ts";
import { type Bucket, type BucketLimits, refill, take } from "../limits/token_bucket.ts";

/** Extras of a reviewed user that name the pod that the token is bound to. */
const EXTRA = {
  podName: "authentication.kubernetes.io/pod-name",
  podUid: "authentication.kubernetes.io/pod-uid",
} as const;
const REVIEW_DEADLINE_MS = 3000;

/** What the API server says of a token that it accepts. */
export interface ReviewedUser {
  readonly username: string;
  /** Of a service account: its UID. */
  readonly uid?: string;
  /** Those of the audiences asked for that the token is for. */
  readonly audiences: readonly string[];
  /** Absent where the API server says nothing of a pod. */
  readonly podNames?: readonly string[];
  readonly podUids?: readonly string[];
}

/** Asks for a review. Undefined: the token is not accepted. Throws where there is no answer. */
export type RequestReview = (
  token: string,
  audiences: readonly string[],
  signal: AbortSignal,
) => Promise<ReviewedUser | undefined>;

/** A {@link RequestReview} over a client. */
export function createReviewRequests(client: Pick<KubeClient, "create">): RequestReview {
  return async (token, audiences, signal) => {
    const review = await client.create(KINDS.tokenReview, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      metadata: {},
      spec: { token, audiences: [...audiences] },
    }, { signal, deadlineMs: REVIEW_DEADLINE_MS, heedRetryAfter: false });
    const { authenticated, audiences: given = [], user } = review.status ?? {};
    if (authenticated !== true || user?.username === undefined) return undefined;
    const { username, uid, extra } = user;
    return {
      username,
      ...(uid !== undefined && { uid }),
      audiences: given,
      ...(extra?.[EXTRA.podName] && { podNames: extra[EXTRA.podName] }),
      ...(extra?.[EXTRA.podUid] && { podUids: extra[EXTRA.podUid] }),
    };
  };
}

/** How questions about tokens ended, label of `token_reviews_total{result}`. */
export type ReviewResult = "authenticated" | "refused" | "unavailable" | "over_budget";

/** An answer, or why there is none. */
export type Asked<A> =
  | { readonly answer: A }
  | { readonly answer?: undefined; readonly why: "unavailable" | "over_budget" };

/** A question about a token. */
export interface TokenQuestion<A> {
  readonly hash: string;
  /** For the log: whose token it is, or says to be. */
  readonly subject: string;
  /** First ones may take all of the budget; the others leave a fifth of it to them. */
  readonly first: boolean;
  readonly ask: (signal: AbortSignal) => Promise<A>;
  /** Called once where the API server gave no answer. */
  readonly noAnswer: () => void;
}

/** Asks questions, each token's once at a time. */
export interface TokenQuestions<A> {
  /** Askers of one token share the question. Never throws. */
  ask(question: TokenQuestion<A>): Promise<Asked<A>>;
  /** Ends what runs, and resolves when nothing does. Nothing is asked after it. */
  close(): Promise<void>;
}

/** Creates {@link TokenQuestions}: `perSecond` in the long run, and as many at once. */
export function createTokenQuestions<A>(clock: Clock, perSecond: number): TokenQuestions<A> {
  const limits: BucketLimits = { ratePerSecond: perSecond, burst: Math.max(1, perSecond) };
  const reserved = Math.floor(limits.burst / 5);
  const log = getLogger(["milepost", "http"]);
  const inFlight = new Map<string, Promise<Asked<A>>>();
  const closing = new AbortController();
  let budget: Bucket | undefined;
  /** The API server gave no answer the last time: told once, not once a token. */
  let outage = false;

  function takeOne(first: boolean): boolean {
    const nowMs = clock.monotonic();
    budget = refill(budget, nowMs, limits);
    if (!first && budget.tokens < 1 + reserved) return false;
    const taken = take(budget, nowMs, limits);
    budget = taken.bucket;
    return taken.waitMs === 0;
  }

  async function put({ ask, subject, noAnswer }: TokenQuestion<A>): Promise<Asked<A>> {
    try {
      const answer = await ask(closing.signal);
      if (outage) log.info("tokens can be reviewed again");
      outage = false;
      return { answer };
    } catch (error) {
      if (closing.signal.aborted) return { why: "unavailable" };
      log[outage ? "debug" : "warn"]("tokens cannot be reviewed, trying again", {
        subject,
        problem: messageOf(error),
      });
      outage = true;
      noAnswer();
      return { why: "unavailable" };
    }
  }

  return {
    ask(question) {
      const running = inFlight.get(question.hash);
      if (running !== undefined) return running;
      if (closing.signal.aborted || !takeOne(question.first)) {
        return Promise.resolve({ why: "over_budget" });
      }
      const started = put(question).finally(() => inFlight.delete(question.hash));
      inFlight.set(question.hash, started);
      return started;
    },
    async close() {
      closing.abort();
      await Promise.all(inFlight.values());
    },
  };
}
