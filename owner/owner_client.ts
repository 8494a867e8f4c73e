/** Client of the owner of all state: questions go to it in process, or to the replica that it is on, and its changes come. */
import type { JobRef } from "../crds/job_kind.ts";
import type { Clock } from "../platform/base/clock.ts";
import { type AskOwner, createOwnerRouter } from "../platform/http/replicas/owner_router.ts";
import type { LeaderLocator } from "../platform/kube/leading/leadership.ts";
import type { AskKind } from "./ask_kind.ts";
import { createJobFeeds, type JobFeeds } from "./job_feeds.ts";
import type { JobStatus, Reading } from "./ledger/reading.ts";
import type { OwnedState } from "./owned_state.ts";
import { createOwnerPoll, type JobVersion, type PollOwner } from "./owner_poll.ts";
import type { ForwardClient } from "./replicas/forward_client.ts";
import type { TermChanges } from "./term.ts";

/** Calls the listener with each news of the job, of the present ones at once. Returns a function that stops this. */
export type Follow<Value> = (job: JobRef, listener: (value: Value) => void) => () => void;

/** Asks the owner, on any replica, and follows its changes; many subscribers of a job are one to the owner. */
export interface OwnerClient {
  /** Returns the function that asks questions of a kind; each is held a moment while there is no owner. */
  asks<Ask, Answer extends object>(kind: AskKind<Ask, Answer>): AskOwner<Ask, Answer>;
  /** Follows changes by their kind, with the newest status, or with the cursor of what has changed. */
  readonly follow: {
    readonly status: Follow<JobStatus>;
    readonly observation: Follow<string>;
    readonly curves: Follow<string>;
  };
  /** Ends what follows the owner, and resolves when nothing does. */
  close(): Promise<void>;
}

/** Options of {@link createOwnerClient}. */
export interface OwnerClientOptions {
  /** Locates the leader, which owns the state. */
  readonly leader: LeaderLocator;
  /** The state of this replica. */
  readonly owned: Pick<OwnedState, "ask" | "changes">;
  readonly forward: Pick<ForwardClient, "ask" | "changes">;
  readonly clock: Clock;
}

/** Creates an {@link OwnerClient}; it follows the owner only while somebody follows a job. */
export function createOwnerClient(options: OwnerClientOptions): OwnerClient {
  const { leader, owned, forward, clock } = options;

  function feedsOf<Value>(
    kind: keyof TermChanges,
    select: (reading: Reading) => Value | undefined,
  ): JobFeeds<Value> {
    const here: PollOwner<Reading> = owned.changes[kind];
    return createJobFeeds({
      poll: createOwnerPoll({ leader, here, forward: forward.changes(kind), clock }),
      select,
      clock,
    });
  }

  const cursorOf = ({ cursor }: JobVersion) => cursor;
  const status = feedsOf("status", (reading) => reading.status);
  const observation = feedsOf("observation", cursorOf);
  const curves = feedsOf("curves", cursorOf);
  return {
    asks: (kind) =>
      createOwnerRouter({
        leader,
        here: (ask, signal) => owned.ask(kind, ask, signal),
        forward: async (target, ask, bounds) => ({
          acceptance: kind.readAnswer(
            await forward.ask(target, { kind: kind.name, ask: kind.write(ask) }, bounds),
          ),
        }),
        clock,
      }),
    follow: { status: status.follow, observation: observation.follow, curves: curves.follow },
    async close() {
      await Promise.all([status, observation, curves].map((feeds) => feeds.close()));
    },
  };
}
