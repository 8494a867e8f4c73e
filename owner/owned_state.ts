/** State that the leader owns: that of the term that runs here; nothing on other replicas. */
import { comeAgain } from "../platform/http/replicas/owner_router.ts";
import type { AskKind } from "./ask_kind.ts";
import type { AcceptPush } from "../crds/wire/push_answer.ts";
import { onAbort } from "../platform/base/aborted.ts";
import { createListeners } from "../platform/base/listeners.ts";
import type { JobVersion, PollOwner } from "./owner_poll.ts";
import { openTerm, type Term, type TermChanges, type TermOptions } from "./term.ts";

/** The state of the leader; empty on other replicas. */
export interface OwnedState {
  /** The term that runs here. */
  readonly term: Term | undefined;
  readonly accept: AcceptPush;
  /** Answers a question; resolves with undefined if no term runs here. */
  ask<Ask, Answer extends object>(
    kind: AskKind<Ask, Answer>,
    ask: Ask,
    signal: AbortSignal,
  ): Promise<Answer | undefined>;
  /** Polls of the term that runs here; each resolves with undefined if none does. */
  readonly changes: TermChanges;
  /** Calls the listener after each push that is taken here. Returns a function that ends this. */
  onPush(listener: () => void): () => void;
  /** Owns the state until `signal` aborts; see {@link Term.run}. */
  run(signal: AbortSignal, flushMs: number): Promise<void>;
}

/** Creates the state; it accepts nothing before a term runs. */
export function createOwnedState(options: TermOptions): OwnedState {
  const listeners = createListeners();
  let term: Term | undefined;

  const changesOf = <State extends JobVersion>(
    pollOf: (changes: TermChanges) => PollOwner<State>,
  ): PollOwner<State> =>
  async (...poll) => await (term && pollOf(term.changes)(...poll));

  return {
    get term() {
      return term;
    },
    accept(push, signal) {
      if (term !== undefined) return term.accept(push, signal);
      return comeAgain("this replica does not own the status of jobs");
    },
    ask: async (kind, ask, signal) => term && await kind.answer(term, ask, signal),
    changes: {
      status: changesOf(({ status }) => status),
      observation: changesOf(({ observation }) => observation),
      curves: changesOf(({ curves }) => curves),
    },
    onPush: listeners.add,
    async run(signal, flushMs) {
      const opened = term = openTerm(options, listeners.notify);
      onAbort(signal, () => term = undefined);
      await opened.run(signal, flushMs);
    },
  };
}
