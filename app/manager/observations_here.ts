/** Answers for the observation API at the owner of all state: whoever asks, here or from another replica. */
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import { answerAsk, createAskParser, type ObservationAnswer } from "../../katib/api/exchange.ts";
import type { ObservationAsk } from "../../katib/api/exchange.ts";
import type { ObservationSource } from "../../katib/api/source.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Clock } from "../../kube/clock.ts";
import type { PollOwner } from "../../status/reading/status_feeds.ts";
import { createWaitingPolls, type WaitingPolls } from "../../status/reading/waiting_polls.ts";
import type { AnswerAsk } from "../../status/replicas/forward_asks.ts";

/** What a replica that owns the state knows of observations. */
export interface ObservationsHere {
  /** Undefined where no term runs here. */
  answer(
    ask: ObservationAsk,
    signal: AbortSignal,
  ): Promise<ObservationAnswer | undefined>;
  /** The same for a question as another replica sends it. */
  readonly answerForwarded: AnswerAsk;
  /** Says which observations are others than their cursors say; undefined where no term runs here. */
  readonly poll: PollOwner;
  /** Hears of no changes any more, and lets nobody wait. */
  close(): void;
}

/** Jobs whose changes are counted; one that is forgotten is looked at once more than needed. */
const MAX_JOBS = 100_000;

/** What is kept for one term. */
interface Desk {
  readonly source: ObservationSource;
  readonly polls: WaitingPolls;
  close(): void;
}

function openDesk(source: ObservationSource, clock: Clock): Desk {
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
  let desk: Desk | undefined;

  function deskNow(): Desk | undefined {
    const source = current();
    if (desk?.source === source) return desk;
    desk?.close();
    desk = source && openDesk(source, clock);
    return desk;
  }

  async function answer(ask: ObservationAsk, signal: AbortSignal) {
    const { source } = deskNow() ?? {};
    return source && await answerAsk(source, ask, signal);
  }

  return {
    answer,
    async answerForwarded(value, signal) {
      const ask = parseAsk(value);
      return ask && await answer(ask, signal);
    },
    poll: async (entries, waitMs, signal) => await deskNow()?.polls.poll(entries, waitMs, signal),
    close() {
      desk?.close();
      desk = undefined;
    },
  };
}
