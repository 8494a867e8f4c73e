/** Client of the owner of all state: questions go to it in process, or to the replica that it is on, and its changes come. */
import type { JobRef } from "../crds/job_kind.ts";
import type { Clock } from "../platform/base/clock.ts";
import { type AskOwner, createOwnerRouter } from "../platform/http/replicas/owner_router.ts";
import type { LeaderLocator } from "../platform/kube/leading/leadership.ts";
import type { AskKind } from "./ask_kind.ts";
import { createJobFeeds, type JobFeeds } from "./job_feeds.ts";
import { heldAfter, type HeldCurves } from "./curves/held_curves.ts";
import type { OwnedState } from "./owned_state.ts";
import { createOwnerPoll, type PollOwner } from "./owner_poll.ts";
import type { JobReading } from "./replicas/forward_changes.ts";
import type { ForwardClient } from "./replicas/forward_client.ts";
import type { TermChanges } from "./term.ts";

/** Calls the listener with each news of the job, of the present ones at once. Returns a function that stops this. */
export type Follow<Value> = (job: JobRef, listener: (value: Value) => void) => () => void;

/** Follows values, each of which is told once. */
const values = <Value>({ follow }: JobFeeds<Value>): Follow<Value> => (job, listener) => {
  let last: Value | undefined;
  return follow(job, ({ value }) => {
    if (value === undefined || value === last) return;
    last = value;
    listener(value);
  });
};

/** Asks the owner, on any replica, and follows its changes; many subscribers of a job are one to the owner. */
export type OwnerClient = ReturnType<typeof createOwnerClient>;

/** Creates an {@link OwnerClient}; it follows the owner only while somebody follows a job. */
export function createOwnerClient(options: {
  /** Locates the leader, which owns the state. */
  readonly leader: LeaderLocator;
  /** The state of this replica. */
  readonly owned: Pick<OwnedState, "ask" | "changes">;
  readonly forward: Pick<ForwardClient, "ask" | "changes">;
  readonly clock: Clock;
}) {
  const { leader, owned, forward, clock } = options;

  function feedsOf<Value>(
    kind: keyof TermChanges,
    valueAfter: (reading: JobReading, before: Value | undefined) => Value | undefined,
  ): JobFeeds<Value> {
    const here: PollOwner<JobReading> = owned.changes[kind];
    return createJobFeeds({
      poll: createOwnerPoll({ leader, here, forward: forward.changes(kind), clock }),
      valueAfter,
      clock,
    });
  }

  const status = feedsOf("status", (reading) => reading.status);
  const observation = feedsOf("observation", ({ cursor }) => cursor);
  const curves = feedsOf<HeldCurves>(
    "curves",
    ({ curves }, before) => curves && heldAfter(before, curves),
  );
  return {
    /** Returns the function that asks questions of a kind; each is held a moment while there is no owner. */
    asks: <Ask, Answer extends object>(kind: AskKind<Ask, Answer>): AskOwner<Ask, Answer> =>
      createOwnerRouter({
        leader,
        here: (ask, signal) => owned.ask(kind, ask, signal),
        forward: async (target, ask, bounds) => ({
          acceptance: kind.schemas.answer.safeParse(
            await forward.ask(target, { kind: kind.name, ask: kind.write(ask) }, bounds),
          ).data,
        }),
        clock,
      }),
    /** Follows changes by their kind: the newest status, the cursor of an observation, the curves or why there are none. */
    follow: { status: values(status), observation: values(observation), curves: curves.follow },
    /** Ends what follows the owner, and resolves when nothing does. */
    async close() {
      await Promise.all([status, observation, curves].map((feeds) => feeds.close()));
    },
  };
}
