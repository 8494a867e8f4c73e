/** Observations that the owner of all state holds for readers, on this replica and on others. */
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { JobVersion, PollOwner } from "../../owner/owner_poll.ts";
import { createWaitingPolls, type WaitingPolls } from "../../owner/waiting_polls.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import {
  answerAsk,
  createAskParser,
  type ObservationAnswer,
  type ObservationAsk,
} from "./owner_requests.ts";
import {
  createStopAskParser,
  type OwnerStopAnswer,
  type StopAsk,
  stopRequestOf,
} from "./owner_stops.ts";
import type { ObservationSource } from "./source.ts";

/** The observations of the term that runs on this replica; without one nothing is answered. */
export interface OwnedObservations {
  /** Resolves with undefined if no term runs here. */
  answer(ask: ObservationAsk, signal: AbortSignal): Promise<ObservationAnswer | undefined>;
  /** The same for a question as another replica sends it; undefined also if it is not understood. */
  answerForwarded(ask: unknown, signal: AbortSignal): Promise<ObservationAnswer | undefined>;
  /** Stops a job early; as {@link OwnedObservations.answer}. */
  stop(ask: StopAsk, signal: AbortSignal): Promise<OwnerStopAnswer | undefined>;
  /** The same for a request as another replica sends it; undefined also if it is not understood. */
  stopForwarded(ask: unknown, signal: AbortSignal): Promise<OwnerStopAnswer | undefined>;
  /** Returns the observations that differ from their cursors; undefined if no term runs here. */
  readonly poll: PollOwner<JobVersion>;
  /** Stops following changes and ends all waits. */
  close(): void;
}

/** Jobs whose changes are counted; a forgotten one is read once more than necessary. */
const MAX_JOBS = 100_000;

/** Observations of one term. */
interface TermObservations {
  readonly source: ObservationSource;
  readonly polls: WaitingPolls<JobVersion>;
  close(): void;
}

function openTerm(source: ObservationSource, clock: Clock): TermObservations {
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

/** Options of {@link createOwnedObservations}. */
export interface OwnedObservationsOptions {
  readonly kinds: JobKinds;
  readonly clock: Clock;
  /** Returns the logs of the term that runs here; undefined if none does. */
  readonly current: () => ObservationSource | undefined;
}

/** Creates {@link OwnedObservations}. */
export function createOwnedObservations(
  { kinds, clock, current }: OwnedObservationsOptions,
): OwnedObservations {
  const parseAsk = createAskParser(kinds);
  const parseStopAsk = createStopAskParser(kinds);
  let term: TermObservations | undefined;

  function termNow(): TermObservations | undefined {
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

  async function stop(ask: StopAsk, signal: AbortSignal) {
    return await current()?.requestStop(stopRequestOf(ask), signal);
  }

  return {
    answer,
    stop,
    async stopForwarded(value, signal) {
      const ask = parseStopAsk(value);
      return ask && await stop(ask, signal);
    },
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
