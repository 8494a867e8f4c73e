/** Stage that hands a push over to the owner of the job's state. */
import { okResponse } from "../../platform/http/json_responses.ts";
import { notNow } from "../../platform/http/refusals.ts";
import { refuse } from "./status_refusals.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { continueWith } from "../../platform/base/continue_with.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import { type Exchange, type Outcome, required, type StageRun } from "./exchange.ts";
import type { AcceptPush, ControlNow, PushAnswer } from "../../crds/wire/push_answer.ts";
import type { Push, PushOrigin, TakeBeat } from "../../crds/wire/push.ts";
import { plausible } from "./plausible_time.ts";

/** The answer for an owner that is slow. */
const LATE = comeAgain(
  "the owner of this job's status did not answer in time: try again soon",
);

/** How long the owner may take to answer. */
export interface AcceptDeadline {
  readonly clock: Clock;
  /** Default 3 s: clients give up after 5. */
  readonly acceptDeadlineMs?: number;
}

/** Returns the answer of the owner, or that it is slow. */
export const inTime = <Answer>(
  { clock, acceptDeadlineMs = 3_000 }: AcceptDeadline,
  ask: (signal: AbortSignal) => Answer | Promise<Answer>,
) => answerInTime(clock, acceptDeadlineMs, LATE, ask);

/** Returns the job and the pod of the exchange. */
function originOf(exchange: Exchange): PushOrigin {
  const { kind, namespace, name } = required(exchange.job, "job");
  return {
    job: { kind, namespace, name, uid: required(exchange.jobUid, "job's UID") },
    pod: required(exchange.pod, "pod"),
  };
}

/** Returns the push to hand over: the newest sample with a plausible time, and what came before it. */
function pushOf(exchange: Exchange): { push?: Push; warnings: readonly string[] } {
  const { trainerStatus, earlier, sequence, container } = required(exchange.body, "body");
  if (trainerStatus === undefined) return { warnings: [] };
  const { nowMs, podStartMs } = exchange;
  const { samples, sentTimes, warnings } = plausible(
    earlier === undefined ? [trainerStatus] : [...earlier, trainerStatus],
    { nowMs, startMs: podStartMs },
  );
  const push: Push = {
    ...originOf(exchange),
    trainerStatus: samples.at(-1) ?? trainerStatus,
    ...(earlier && { earlier: samples.slice(0, -1) }),
    ...(sentTimes && { sentTimes }),
    sequence,
    ...(container !== undefined && { container }),
    receivedMs: nowMs,
  };
  return { push, warnings };
}

/** Returns what the 200 repeats: the push, or the newest sample of a history and the number of samples. */
function echo({ chain, body }: Exchange): Record<string, unknown> {
  const { earlier, heartbeat: _, ...pushed } = required(body, "body");
  if (chain !== "history") return pushed;
  return { ...pushed, count: earlier === undefined ? 0 : earlier.length + 1 };
}

/** Makes the response from the owner's answer. */
function answer(exchange: Exchange, acceptance: PushAnswer, warnings: readonly string[]): Outcome {
  if (!acceptance.ok) {
    return acceptance.gone ? refuse("unknown_job") : notNow(acceptance);
  }
  const all = [...warnings, ...acceptance.warnings ?? []];
  const { control } = acceptance;
  exchange.response = okResponse({
    ...echo(exchange),
    ...(all.length > 0 && { warnings: all }),
    ...(control && { control }),
  });
  return undefined;
}

/** What {@link createHandOver} asks. */
export interface HandOverParts extends AcceptDeadline {
  readonly accept: AcceptPush;
  readonly beat: TakeBeat;
  /** What an empty push is answered. */
  readonly controlNow: ControlNow;
}

/**
 * Creates the stage that hands the push over to its owner, and makes the response from the owner's answer. A heartbeat
 * is handed over without waiting for an answer. An empty push is handed to nobody: it is answered by what the job's object says, on any replica.
 */
export function createHandOver(parts: HandOverParts): StageRun {
  const { accept, beat, controlNow } = parts;
  return (exchange) => {
    const { push, warnings } = pushOf(exchange);
    const { heartbeat } = exchange.body ?? {};
    if (heartbeat !== undefined) beat({ ...originOf(exchange), ...heartbeat });
    if (push === undefined) {
      return answer(exchange, { ok: true, control: controlNow(originOf(exchange).job) }, warnings);
    }
    const acceptance = inTime(parts, (signal) => accept(push, signal));
    return continueWith(acceptance, (settled) => answer(exchange, settled, warnings));
  };
}
