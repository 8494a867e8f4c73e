/** Answers of the observation API at the owner of the state, for this replica and for others. */
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import {
  answerAsk,
  createAskParser,
  type ObservationAnswer,
} from "../../katib/api/owner_requests.ts";
import type { ObservationAsk } from "../../katib/api/owner_requests.ts";
import type { ObservationSource } from "../../katib/api/source.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Clock } from "../../kube/clock.ts";
import type { JobVersion, PollOwner } from "../../http/replicas/owner_poll.ts";
import { createWaitingPolls, type WaitingPolls } from "../../http/replicas/waiting_polls.ts";
import type { AnswerAsk } from "../../status/replicas/forward_asks.ts";

/** Answers about observations on the replica that owns the state. */
export interface ObservationsHere {
  /** Resolves with undefined if no term runs here. */
  answer(
    ask: ObservationAsk,
    signal: AbortSignal,
  ): Promise<ObservationAnswer | undefined>;
  /** The same for a question as another replica sends it. */
  readonly answerForwarded: AnswerAsk;
  /** Returns the observations that differ from their cursors; undefined if no term runs here. */
  readonly poll: PollOwner<JobVersion>;
  /** Stops following changes and ends all waits. */
  close(): void;
}

/** Jobs whose changes are counted; a forgotten one is read once more than necessary. */
const MAX_JOBS = 100_000;

/** Answers of one term. */
interface TermAnswers {
  readonly source: ObservationSource;
  readonly polls: WaitingPolls<JobVersion>;
  close(): void;
}

function openTerm(source: ObservationSource, clock: Clock): TermAnswers {
  const term = crypto.randomUUID();
  const versions = createBoundedCache<number>(MAX_JOBS);
  let version = 0;
  const polls = createWaitingPolls({
    read: ({ uid }) => ({ uid, cursor: `${term}.${versions.get(uid) ?? 0}` }),
    clock,
  });
  const stop = source.onChange((uid) => {
    versions.set(uid, ++version);
    polls.changed(uid);
  });
  return {
    source,
    polls,
    close() {
      stop();
      polls.close();
    },
  };
}

/** Creates {@link ObservationsHere} over the log of the term that runs here, if one does. */
export function createObservationsHere(
  { kinds, clock }: { readonly kinds: JobKinds; readonly clock: Clock },
  current: () => ObservationSource | undefined,
): ObservationsHere {
  const parseAsk = createAskParser(kinds);
  let term: TermAnswers | undefined;

  function termNow(): TermAnswers | undefined {
    const source = current();
    if (term?.source === source) return term;
    term?.close();
    term = source && openTerm(source, clock);
    return term;
  }

  async function answer(ask: ObservationAsk, signal: AbortSignal) {
    const { source } = termNow() ?? {};
    return source && await answerAsk(source, ask, signal);
  }

  return {
    answer,
    async answerForwarded(value, signal) {
      const ask = parseAsk(value);
      return ask && await answer(ask, signal);
    },
    poll: async (entries, waitMs, signal) => await termNow()?.polls.poll(entries, waitMs, signal),
    close() {
      term?.close();
      term = undefined;
    },
  };
}
