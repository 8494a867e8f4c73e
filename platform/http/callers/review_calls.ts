/** Questions to the API server about callers: each once at a time, within a budget. */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../base/clock.ts";
import { sharedCall } from "../../base/shared_calls.ts";
import { messageOf } from "../../kube/errors.ts";

/** An answer, or why there is none. */
export type Asked<A> =
  | { readonly answer: A }
  | { readonly answer?: undefined; readonly why: "unavailable" | "over_budget" };

/** A question. */
export interface Question<A> {
  /** Questions of one key that come at the same time are asked once. */
  readonly key: string;
  /** Who it is about, or says to be: for the log, and for turns. */
  readonly subject?: string;
  /** Whether it may take the reserved part of the budget. */
  readonly first: boolean;
  readonly ask: (signal: AbortSignal) => Promise<A>;
  /** Called once if the API server gives no answer. */
  readonly onNoAnswer?: () => void;
}

/** Asks questions. */
export interface Questions<A> {
  /** Never throws. */
  ask(question: Question<A>): Promise<Asked<A>>;
  /** Returns whether a question of that key is under way. */
  isAsking(key: string): boolean;
  /** Ends what runs, and resolves when nothing does. Nothing is asked after it. */
  close(): Promise<void>;
}

/** Takes one from a budget, at once or when it is the subject's turn; false if there is none left. `nowMs` is monotonic. */
export type TakeTurn = (
  nowMs: number,
  first: boolean,
  whose: { readonly subject?: string | undefined; readonly signal: AbortSignal },
) => boolean | Promise<boolean>;

/** Options of {@link createQuestions}. */
export interface QuestionsOptions {
  readonly clock: Clock;
  /** Subject of the questions, for the log. */
  readonly about: "tokens" | "rights";
  readonly take: TakeTurn;
}

/** Creates {@link Questions}. */
export function createQuestions<A>({ clock, about, take }: QuestionsOptions): Questions<A> {
  const log = getLogger(["milepost", "http"]);
  /** Never more than the budget gives, or lets wait, in the time that a question may take. */
  const inFlight = new Map<string, Promise<Asked<A>>>();
  const closing = new AbortController();
  /** The API server gave no answer the last time: logged once, not once a question. */
  let outage = false;

  async function put({ ask, subject, first, onNoAnswer }: Question<A>): Promise<Asked<A>> {
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
    ask(question) {
      return sharedCall(inFlight, question.key, () => put(question));
    },
    isAsking: (key) => inFlight.has(key),
    async close() {
      closing.abort();
      await Promise.all(inFlight.values());
    },
  };
}
