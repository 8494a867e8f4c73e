/** Stages that read: the newest status of the owner, once, or as a stream of events. */
import type { JobRef } from "../../crds/job_kind.ts";
import { okResponse } from "../../platform/http/json_responses.ts";
import { notNow } from "../../platform/http/refusals.ts";
import { refuse } from "../chain/status_refusals.ts";
import { eventStreamResponse } from "../../platform/http/event_stream.ts";
import { type JobEnd, runEventStream, type StreamEnd } from "./status_stream.ts";
import { type Exchange, required, type Stage, type StageRun } from "../chain/exchange.ts";
import { type JobStatus, type ReadStatus, statusView } from "../../owner/ledger/reading.ts";
import { type AcceptDeadline, inTime } from "../chain/handover.ts";
import type { Follow } from "../../owner/owner_client.ts";
import { ROOM_MS, type StreamSlots } from "../../platform/http/limits/stream_limits.ts";

/** Parts of reading. */
export interface ReadingParts {
  readonly read: ReadStatus;
  readonly follow: Follow<JobStatus>;
  readonly slots: StreamSlots;
  /** Calls the listener when the job has ended, at once if it has. Returns how to stop that. */
  readonly onJobEnd: (job: JobRef, listener: (end: JobEnd) => void) => () => void;
}

function jobOf(exchange: Exchange): JobRef {
  return { ...required(exchange.job, "job"), uid: required(exchange.jobUid, "job's UID") };
}

/** Responds with the newest status, and what the job goes on from; 404 if there is nothing yet. It is read within the deadline that a push has, too. */
export function read(reading: ReadingParts, deadline: AcceptDeadline): StageRun {
  return async (exchange) => {
    const job = jobOf(exchange);
    const answer = await inTime(deadline, (signal) => reading.read(job, signal));
    if (!answer.ok) return notNow(answer);
    const { status, checkpoint, restart } = answer;
    if ((status ?? checkpoint ?? restart) === undefined) return refuse("no_status");
    exchange.response = okResponse(statusView(status ?? {}, answer));
    return undefined;
  };
}

/** Returns whether the reader of a stream may read on: the stages that admitted it run again. */
function createReauthorize(again: readonly Stage[], exchange: Exchange) {
  return async (): Promise<StreamEnd | undefined> => {
    const copy: Exchange = { ...exchange };
    for (const { run } of again) {
      const refusal = await run(copy);
      // A check that is not possible now takes no rights away.
      if (refusal === undefined || refusal.why === "unavailable") continue;
      if (refusal.why === "unknown_job") return { kind: "job", reason: "Deleted" };
      return { kind: "reader", why: refusal.message };
    }
    // Another job of its name.
    return copy.jobUid === exchange.jobUid ? undefined : { kind: "job", reason: "Deleted" };
  };
}

/**
 * Responds with server-sent events, if there is room for one more stream. The stages of `recheck` decide
 * from time to time whether its reader may read on.
 */
export function watch(
  reading: ReadingParts,
  deadline: AcceptDeadline,
  recheck: readonly Stage[],
): StageRun {
  return (exchange) => {
    const { subject, expiresMs } = required(exchange.identity, "identity");
    const slot = reading.slots.take(subject);
    if (typeof slot === "string") return refuse(slot, { retryAfterMs: ROOM_MS });
    const job = jobOf(exchange);
    exchange.response = eventStreamResponse(slot, (sink) =>
      runEventStream({
        sink,
        clock: deadline.clock,
        expiresMs,
        follow: (listener) => reading.follow(job, listener),
        onJobEnd: (listener) => reading.onJobEnd(job, listener),
        lastStatus: async () => {
          const answer = await inTime(deadline, (signal) => reading.read(job, signal));
          return answer.ok ? answer.status : undefined;
        },
        reauthorize: createReauthorize(recheck, exchange),
      }));
    return undefined;
  };
}
