/** Kind of a question to the owner of all state: its messages between replicas, and its answer from a term. */
import type { z } from "zod";
import type { Term } from "./term.ts";

/** One kind; what is asked and answered is named by its room. */
export interface AskKind<Ask, Answer extends object> {
  /** Names it in messages. */
  readonly name: string;
  /** Returns what the message of a question holds. */
  write(ask: Ask): object;
  /** Of that, and of what the message of an answer holds. */
  readonly schemas: { readonly ask: z.ZodType<Ask>; readonly answer: z.ZodType<Answer> };
  /** Resolves with undefined if the term has no answer. */
  answer(
    term:
      & Pick<
        Term,
        "observations" | "curves" | "restarts" | "restore" | "changes" | "resumptionOf"
      >
      & {
        readonly stalls: Pick<Term["stalls"], "beat">;
      },
    ask: Ask,
    signal: AbortSignal,
  ): Promise<Answer | undefined>;
}
