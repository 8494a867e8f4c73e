/** Client of the owner of all state: questions and polls go to it in process, or to the replica that it is on. */
import type { Clock } from "../platform/base/clock.ts";
import { type AskOwner, createOwnerRouter } from "../platform/http/replicas/owner_router.ts";
import type { LeaderLocator } from "../platform/kube/leading/leadership.ts";
import type { AskKind } from "./ask_kind.ts";
import type { OwnedState } from "./owned_state.ts";
import { createOwnerPoll } from "./owner_poll.ts";
import type { ForwardClient } from "./replicas/forward_client.ts";
import type { TermChanges } from "./term.ts";

/** Asks the owner, on any replica. */
export interface OwnerClient {
  /** Returns the function that asks questions of a kind; each is held a moment while there is no owner. */
  asks<Ask, Answer extends object>(kind: AskKind<Ask, Answer>): AskOwner<Ask, Answer>;
  /** Polls for changes. */
  readonly changes: TermChanges;
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

/** Creates an {@link OwnerClient}. */
export function createOwnerClient(options: OwnerClientOptions): OwnerClient {
  const { leader, owned, forward, clock } = options;
  const here = owned.changes;
  return {
    asks: (kind) =>
      createOwnerRouter({
        leader,
        acceptHere: (ask, signal) => owned.ask(kind, ask, signal),
        forward: async (target, ask, bounds) => ({
          acceptance: kind.readAnswer(
            await forward.ask(target, { kind: kind.name, ask: kind.write(ask) }, bounds),
          ),
        }),
        clock,
      }),
    changes: {
      status: createOwnerPoll({
        leader,
        pollHere: here.status,
        forward: forward.changes("status"),
        clock,
      }),
      observation: createOwnerPoll({
        leader,
        pollHere: here.observation,
        forward: forward.changes("observation"),
        clock,
      }),
      curves: createOwnerPoll({
        leader,
        pollHere: here.curves,
        forward: forward.changes("curves"),
        clock,
      }),
    },
  };
}
