/** Listener for calls of other replicas, which need a certificate of our CA. */
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import {
  type AnsweredCall,
  type ReplicaListenerOptions,
  startReplicaListener,
} from "../../platform/http/replicas/listener.ts";
import { type OwnTerm, termRefusal } from "../../platform/http/replicas/terms.ts";
import type { Server } from "../../platform/http/server.ts";
import type { AskKind } from "../ask_kind.ts";
import type { OwnedState } from "../owned_state.ts";
import type { JobVersion, PollOwner } from "../owner_poll.ts";
import {
  type AnswerAsk,
  ASK_MAX_BYTES,
  askPath,
  changesPath,
  createAskJudge,
} from "./forward_asks.ts";
import { createPollReader, POLL_MAX_BYTES, readingsThatFit } from "./forward_changes.ts";
import {
  createPushDecoder,
  FORWARD_MAX_BYTES,
  type ForwardAnswer,
  type ForwardedPush,
  PUSHES_PATH,
  splitPushes,
} from "./forwarding.ts";

/** Options of {@link startForwardListener}. */
export interface ForwardListenerOptions extends Omit<ReplicaListenerOptions, "calls"> {
  readonly kinds: JobKinds;
  readonly term: () => OwnTerm;
  /** The state of this replica. */
  readonly owned: Pick<OwnedState, "accept" | "ask" | "changes">;
  /** Kinds of questions that it answers. */
  readonly asks: readonly AskKind<unknown, object>[];
  /** How long the owner may take for a push. Default 2 s. */
  readonly acceptDeadlineMs?: number;
}

const LATE = comeAgain("the owner is slow: try again soon");

type Judge = AnsweredCall["answer"];

const NOT_UNDERSTOOD = comeAgain("the owner does not understand the push: try again soon");

/** Judges the forwarded pushes of a call, each for itself. */
function createPushJudge(
  { kinds, term, owned, clock, acceptDeadlineMs = 2000 }: ForwardListenerOptions,
): Judge {
  const decode = createPushDecoder(kinds);
  function judge(forwarded: ForwardedPush | undefined): ForwardAnswer | Promise<ForwardAnswer> {
    if (forwarded === undefined) return NOT_UNDERSTOOD;
    const refusal = termRefusal(term(), forwarded.transitions);
    if (refusal !== undefined) return refusal;
    return answerInTime(
      clock,
      acceptDeadlineMs,
      LATE,
      (signal) => owned.accept(forwarded.push, signal),
    );
  }

  return async (bytes): Promise<{ answers: readonly ForwardAnswer[] } | undefined> => {
    const pushes = splitPushes(bytes)?.map(decode) ?? [];
    if (pushes.every((push) => push === undefined)) return undefined;
    const answers = await Promise.all(pushes.map(judge));
    // An owner that was paused meanwhile neither accepts nor answers.
    return {
      answers: answers.map((answer, index) => {
        const transitions = pushes[index]?.transitions;
        return (transitions === undefined ? undefined : termRefusal(term(), transitions)) ?? answer;
      }),
    };
  };
}

/** Returns the answer to questions of a kind. */
const answerOf =
  ({ owned }: ForwardListenerOptions, kind: AskKind<unknown, object>): AnswerAsk =>
  async (value, signal) => {
    const { success, data: ask } = kind.schemas.ask.safeParse(value);
    return success ? await owned.ask(kind, ask, signal) : undefined;
  };

/** Returns the answer to polls of a kind, which comes as soon as there is something new. */
const changesOf = (kinds: JobKinds, here: PollOwner<JobVersion>): AnswerAsk => {
  const read = createPollReader(kinds);
  return async (value, signal) => {
    const poll = read(value);
    const readings = poll && await here(poll.entries, poll.waitMs, signal);
    return readings && readingsThatFit(readings);
  };
};

/** Starts the listener. Throws a ConfigurationError if its port is taken. */
export function startForwardListener(options: ForwardListenerOptions): Promise<Server> {
  const { kinds, term, owned, asks } = options;
  const call = (path: string, answer: AnswerAsk, maxBytes: number): [string, AnsweredCall] => [
    path,
    { answer: createAskJudge(term, answer), maxBytes },
  ];
  const calls = Object.fromEntries([
    [PUSHES_PATH, { answer: createPushJudge(options), maxBytes: FORWARD_MAX_BYTES }],
    ...asks.map((kind) => call(askPath(kind.name), answerOf(options, kind), ASK_MAX_BYTES)),
    ...Object.entries(owned.changes).map(([kind, here]) =>
      call(changesPath(kind), changesOf(kinds, here), POLL_MAX_BYTES)
    ),
  ]);
  return startReplicaListener({ ...options, calls });
}
