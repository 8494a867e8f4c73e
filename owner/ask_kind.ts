/** Kind of a question to the owner of all state: its messages between replicas, and its answer from a term. */
import type { Term } from "./term.ts";

/** One kind; what is asked and answered is named by its room. */
export interface AskKind<Ask, Answer extends object> {
  /** Names it in messages. */
  readonly name: string;
  /** Returns what the message of a question holds. */
  write(ask: Ask): object;
  /** Reads that; undefined if it is not understood. */
  read(value: unknown): Ask | undefined;
  /** Reads what the message of an answer holds; undefined if it is no answer. */
  readAnswer(value: unknown): Answer | undefined;
  /** Resolves with undefined if the term has no answer. */
  answer(
    term: Pick<Term, "observations" | "curves" | "restore" | "changes">,
    ask: Ask,
    signal: AbortSignal,
  ): Promise<Answer | undefined>;
}
