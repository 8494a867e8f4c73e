/** Reviews of callers by the API server: each under way once at a time, within a budget. */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../base/clock.ts";
import { sharedCall } from "../../base/shared_calls.ts";
import { messageOf } from "../../kube/errors.ts";

/** An answer, or why there is none. */
export type ReviewAnswer<A> =
  | { readonly answer: A }
  | { readonly answer?: undefined; readonly why: "unavailable" | "over_budget" };

/** A review of a token, or of a right. */
export interface ReviewCall<A> {
  /** Calls of one key share the one that is under way. */
  readonly key: string;
  /** Who it is about, or says to be: for the log, and for turns. */
  readonly subject?: string;
  /** Whether it may take the reserved part of the budget. */
  readonly first: boolean;
  readonly ask: (signal: AbortSignal) => Promise<A>;
  /** Called once if the API server gives no answer. */
  readonly onNoAnswer?: () => void;
}

/** Takes one from a budget, at once or when it is the subject's turn; false if there is none left. `nowMs` is monotonic. */
export type TakeTurn = (
  nowMs: number,
  first: boolean,
  whose: { readonly subject?: string | undefined; readonly signal: AbortSignal },
) => boolean | Promise<boolean>;

/** Creates what makes the calls. */
export function createReviewCalls<A>({ clock, about, take }: {
  readonly clock: Clock;
  /** Subject of the reviews, for the log. */
  readonly about: "tokens" | "rights";
  readonly take: TakeTurn;
}) {
  const log = getLogger(["milepost", "http"]);
  /** Never more than the budget gives, or lets wait, in the time that a call may take. */
  const inFlight = new Map<string, Promise<ReviewAnswer<A>>>();
  const closing = new AbortController();
  /** The API server gave no answer the last time: logged once, not once a call. */
  let outage = false;

  async function call(
    { ask, subject, first, onNoAnswer }: ReviewCall<A>,
  ): Promise<ReviewAnswer<A>> {
    const { signal } = closing;
    if (signal.aborted) return { why: "over_budget" };
    const taken = take(clock.monotonic(), first, { subject, signal });
    if (!(typeof taken === "boolean" ? taken : await taken)) return { why: "over_budget" };
    try {
      const answer = await ask(signal);
      if (outage) log.info(`${about} can be reviewed again`);
      outage = false;
      return { answer };
    } catch (error) {
      if (signal.aborted) return { why: "unavailable" };
      log[outage ? "debug" : "warn"](`${about} cannot be reviewed, trying again`, {
        ...(subject !== undefined && { subject }),
        problem: messageOf(error),
      });
      outage = true;
      onNoAnswer?.();
      return { why: "unavailable" };
    }
  }

  return {
    /** Never throws. */
    ask: (review: ReviewCall<A>): Promise<ReviewAnswer<A>> =>
      sharedCall(inFlight, review.key, () => call(review)),
    /** Returns whether a call of that key is under way. */
    isUnderWay: (key: string): boolean => inFlight.has(key),
    /** Ends what runs, and resolves when nothing does. No call is made after it. */
    async close(): Promise<void> {
      closing.abort();
      await Promise.all(inFlight.values());
    },
  };
}
