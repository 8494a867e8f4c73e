/** State that the leader owns: that of the term that runs here; nothing on other replicas. */
import { comeAgain } from "../platform/http/replicas/owner_router.ts";
import type { AskKind } from "./ask_kind.ts";
import type { AcceptPush } from "../crds/wire/push_answer.ts";
import { onAbort } from "../platform/base/aborted.ts";
import { createListeners } from "../platform/base/listeners.ts";
import type { JobVersion, PollOwner } from "./owner_poll.ts";
import { openTerm, type Term, type TermChanges, type TermOptions } from "./term.ts";

/** The state of the leader; empty on other replicas. */
export type OwnedState = ReturnType<typeof createOwnedState>;

/** Creates the state; it accepts nothing before a term runs. */
export function createOwnedState(options: TermOptions) {
  const listeners = createListeners();
  let term: Term | undefined;

  const changesOf = <State extends JobVersion>(
    pollOf: (changes: TermChanges) => PollOwner<State>,
  ): PollOwner<State> =>
  async (...poll) => await (term && pollOf(term.changes)(...poll));
  const accept: AcceptPush = (push, signal) => {
    if (term !== undefined) return term.accept(push, signal);
    return comeAgain("this replica does not own the status of jobs");
  };
  /** Polls of the term that runs here; each resolves with undefined if none does. */
  const changes: TermChanges = {
    status: changesOf(({ status }) => status),
    observation: changesOf(({ observation }) => observation),
    curves: changesOf(({ curves }) => curves),
  };

  return {
    /** The term that runs here. */
    get term(): Term | undefined {
      return term;
    },
    accept,
    /** Answers a question; resolves with undefined if no term runs here. */
    ask: async <Ask, Answer extends object>(
      kind: AskKind<Ask, Answer>,
      ask: Ask,
      signal: AbortSignal,
    ): Promise<Answer | undefined> => term && await kind.answer(term, ask, signal),
    changes,
    /** Calls the listener after each push that is taken here. Returns a function that ends this. */
    onPush: listeners.add,
    /** Owns the state until `signal` aborts; see {@link Term.run}. */
    async run(signal: AbortSignal, flushMs: number): Promise<void> {
      const opened = term = openTerm(options, listeners.notify);
      onAbort(signal, () => term = undefined);
      await opened.run(signal, flushMs);
    },
  };
}
