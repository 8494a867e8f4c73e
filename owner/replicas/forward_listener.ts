/** Listener for calls of other replicas, which need a certificate of our CA. */
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { MessageVersion } from "../../crds/wire/job_message.ts";
import { type AnsweredCall, startReplicaListener } from "../../platform/http/replicas/listener.ts";
import type { Server } from "../../platform/http/server.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import type { AcceptPush } from "../../crds/wire/push_answer.ts";
import {
  type AnswerAsk,
  ASK_MAX_BYTES,
  askPath,
  changesPath,
  createAskJudge,
  curveChangesPath,
  curvesPath,
  stopJobPath,
} from "./forward_asks.ts";
import type { ReplicaTls } from "../../platform/http/replicas/calls.ts";
import { createReadDecoder, READ_MAX_BYTES, readingsThatFit, readPath } from "./forward_reading.ts";
import {
  createPushDecoder,
  FORWARD_MAX_BYTES,
  type ForwardAnswer,
  type ForwardedPush,
  forwardPath,
  splitPushes,
} from "./forwarding.ts";
import { NOT_OWNER, type OwnTerm, termRefusal } from "../../platform/http/replicas/terms.ts";
import type { Reading } from "../ledger/reading.ts";
import type { JobVersion, PollOwner } from "../owner_poll.ts";

/** Answers about observations. */
export interface ForwardedObservations {
  readonly answerHere: AnswerAsk;
  /** Stops a job. */
  readonly stopHere: AnswerAsk;
  /** Returns which of them changed. */
  readonly pollHere: PollOwner<JobVersion>;
}

/** Answers about curves. */
export interface ForwardedCurves {
  readonly answerHere: AnswerAsk;
  /** Returns which of them changed. */
  readonly pollHere: PollOwner<JobVersion>;
}

/** Options of {@link startForwardListener}. */
export interface ForwardListenerOptions {
  readonly kinds: JobKinds;
  /** 0 stands for a free one. */
  readonly port: number;
  /** Address to listen on. Default: all. */
  readonly hostname?: string;
  /** Its serving certificate, and the CAs of clients. */
  readonly tls: ReplicaTls;
  /** The DNS name that the certificate of a replica carries. */
  readonly clientName: string;
  readonly term: () => OwnTerm;
  readonly acceptHere: AcceptPush;
  /** Reads this replica's own state. */
  readonly pollHere: PollOwner<Reading>;
  /** Absent if the replica has no observation API. */
  readonly observations?: ForwardedObservations | undefined;
  /** Absent if the replica keeps no curves. */
  readonly curves?: ForwardedCurves | undefined;
  readonly clock: Clock;
  /** How long `acceptHere` may take. Default 2 s. */
  readonly acceptDeadlineMs?: number;
}

const LATE: ForwardAnswer = { retryAfterMs: 1000, reason: "the owner is slow: try again soon" };

type Judge = AnsweredCall["answer"];

const NOT_UNDERSTOOD: ForwardAnswer = {
  retryAfterMs: 1000,
  reason: "the owner does not understand the push: try again soon",
};

/** Judges the forwarded pushes of a call, each for itself. */
function createPushJudge(
  { kinds, term, acceptHere, clock, acceptDeadlineMs = 2000 }: ForwardListenerOptions,
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
      (signal) => acceptHere(forwarded.push, signal),
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

/** Answers one forwarded read, as soon as there is something new. */
function createReadJudge(
  { kinds, term, pollHere }: Pick<ForwardListenerOptions, "kinds" | "term"> & {
    readonly pollHere: PollOwner<JobVersion>;
  },
): Judge {
  const decode = createReadDecoder(kinds);
  return async (
    bytes,
    signal,
  ): Promise<ForwardAnswer | { readings: readonly JobVersion[] } | undefined> => {
    const ask = decode(bytes);
    if (ask === undefined) return undefined;
    const refusal = termRefusal(term(), ask.transitions);
    if (refusal !== undefined) return refusal;
    const readings = await pollHere(ask.entries, ask.waitMs, signal);
    // An owner that was paused meanwhile may know less than the next one.
    const late = termRefusal(term(), ask.transitions);
    return late ?? (readings === undefined ? NOT_OWNER : readingsThatFit(readings));
  };
}

/** A call that is answered, with its path in each version of the messages. */
interface Call extends AnsweredCall {
  readonly path: (version: MessageVersion) => string;
}

/** Returns the calls that are answered. */
function callsOf(options: ForwardListenerOptions): Call[] {
  const { kinds, term, observations, curves } = options;
  const calls: Call[] = [
    { path: forwardPath, answer: createPushJudge(options), maxBytes: FORWARD_MAX_BYTES },
    { path: readPath, answer: createReadJudge(options), maxBytes: READ_MAX_BYTES },
  ];
  if (curves !== undefined) {
    const { answerHere, pollHere } = curves;
    calls.push(
      { path: curvesPath, answer: createAskJudge(term, answerHere), maxBytes: ASK_MAX_BYTES },
      {
        path: curveChangesPath,
        answer: createReadJudge({ kinds, term, pollHere }),
        maxBytes: READ_MAX_BYTES,
      },
    );
  }
  if (observations === undefined) return calls;
  const { answerHere, stopHere, pollHere } = observations;
  return [
    ...calls,
    { path: askPath, answer: createAskJudge(term, answerHere), maxBytes: ASK_MAX_BYTES },
    { path: stopJobPath, answer: createAskJudge(term, stopHere), maxBytes: ASK_MAX_BYTES },
    {
      path: changesPath,
      answer: createReadJudge({ kinds, term, pollHere }),
      maxBytes: READ_MAX_BYTES,
    },
  ];
}

/** The versions of messages; each is read in the same way, and only the second one names kinds. */
const VERSIONS: readonly MessageVersion[] = ["v1", "v2"];

/** Starts the listener. Throws a ConfigurationError if its port is taken. */
export function startForwardListener(options: ForwardListenerOptions): Promise<Server> {
  const calls = Object.fromEntries(
    callsOf(options).flatMap((call) => VERSIONS.map((version) => [call.path(version), call])),
  );
  return startReplicaListener({ ...options, calls });
}
