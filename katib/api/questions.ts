/** Questions to the API server: one at a time about one thing, within a budget. */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../kube/clock.ts";
import { messageOf } from "../../kube/errors.ts";

/** An answer; undefined where the API server gave none, or no budget is left. */
export type Asked<A> = { readonly answer: A } | undefined;

/** Asks questions. */
export interface Questions<A> {
  /** Askers of one `key` share the question. Never throws. */
  ask(
    key: string,
    from: "stranger" | "known",
    question: (signal: AbortSignal) => Promise<A>,
  ): Promise<Asked<A>>;
  /** Whether a question is under way that an asker of `key` would share. */
  isAsking(key: string): boolean;
  /** Ends what runs, and resolves when nothing does. Nothing is asked after it. */
  close(): Promise<void>;
}

/**
 * Takes one question from the budget; false: there is none left. Strangers leave a part of it to those
 * who were accepted before. `nowMs` is monotonic.
 */
export type TakeQuestion = (nowMs: number, from: "stranger" | "known") => boolean;

/** Options of {@link createQuestions}. */
export interface QuestionsOptions {
  readonly clock: Clock;
  /** What they are about, for the log. */
  readonly about: string;
  readonly take: TakeQuestion;
  /** How a question ended. */
  readonly onAsked?: (result: "answered" | "unavailable" | "over_budget") => void;
}

/** Creates {@link Questions}. */
export function createQuestions<A>(options: QuestionsOptions): Questions<A> {
  const { clock, about, take, onAsked } = options;
  const log = getLogger(["milepost", "katib"]);
  /** Never more than the budget gives in the time that a question may take. */
  const inFlight = new Map<string, Promise<Asked<A>>>();
  const closing = new AbortController();
  /** The API server gave no answer the last time: told once, not once a question. */
  let outage = false;

  async function put(question: (signal: AbortSignal) => Promise<A>): Promise<Asked<A>> {
    try {
      const answer = await question(closing.signal);
      if (outage) log.info("readers of observations can be checked again", { about });
      outage = false;
      onAsked?.("answered");
      return { answer };
    } catch (error) {
      if (closing.signal.aborted) return undefined;
      log[outage ? "debug" : "warn"](
        "readers of observations cannot be checked, they are told to come again",
        { about, problem: messageOf(error) },
      );
      outage = true;
      onAsked?.("unavailable");
      return undefined;
    }
  }

  return {
    ask(key, from, question) {
      const running = inFlight.get(key);
      if (running !== undefined) return running;
      if (closing.signal.aborted) return Promise.resolve(undefined);
      if (!take(clock.monotonic(), from)) {
        onAsked?.("over_budget");
        return Promise.resolve(undefined);
      }
      const started = put(question).finally(() => inFlight.delete(key));
      inFlight.set(key, started);
      return started;
    },
    isAsking: (key) => inFlight.has(key),
    async close() {
      closing.abort();
      await Promise.all(inFlight.values());
    },
  };
}
