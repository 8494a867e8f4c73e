/** Responses to authorized readers: a page of an observation, or a stream of them. */
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import type { Position } from "../../crds/wire/observation.ts";
import { type AnyJob, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { notNow, type Refusal } from "../../platform/http/refusals.ts";
import { refuseReader } from "../../platform/http/callers/reader_refusals.ts";
import { ROOM_MS } from "../../platform/http/limits/stream_limits.ts";
import { type ApiParts, type Granted, type JobName, refusalOfReader } from "./checks.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import { ofOpenStream, refusalOfStream } from "../../platform/http/callers/reader_checks.ts";
import {
  eventStreamResponse,
  type JobEnd,
  type Reauthorization,
  runEventLoop,
} from "../../platform/http/event_stream.ts";
import type { HttpResponse, ResponseSink } from "../../platform/http/message.ts";
import { jobState, observationOf } from "./observation_state.ts";
import type { Observation } from "./messages.ts";
import { behind } from "../../owner/observations/log_parts.ts";
import { createWatch, type PageRead } from "./stream.ts";

/** How long the owner may take to answer, in milliseconds. */
export const ANSWER_MS = 5000;
/** Said of an owner that takes longer. */
export const LATE = comeAgain(
  "the owner of this job's observation log did not answer in time: try again soon",
);

/** Reads pages, few at a time, each within a deadline. */
function askInTime(
  { ask, clock }: ApiParts,
  job: JobRef,
  { from, limit }: { readonly from?: Position | undefined; readonly limit: number },
): PageRead | Promise<PageRead> {
  return answerInTime(clock, ANSWER_MS, LATE, (signal) => ask({ job, from, limit }, signal));
}

/** A page of the log, and what is known of the job. */
export async function readPage(
  parts: ApiParts,
  { job: { kind }, query: { from, limit } }: Granted,
  job: AnyJob,
): Promise<Observation | Refusal> {
  const which = jobRefOf(kind, job);
  const page = await askInTime(parts, which, { from, limit });
  if ("retryAfterMs" in page) return notNow(page);
  // The newest from the cache: the job may have ended while its log was read.
  const now = parts.jobNow(which) ?? job;
  const state = jobState(kind, now, parts.outcomeOf(kind, now));
  return observationOf(state, page, page.more ? behind(page.rows, from) : undefined);
}

/** Whether that very job no longer exists. Throws if that cannot be known now. */
async function isGone({ findJob }: ApiParts, job: JobName, uid: string): Promise<boolean> {
  const found = await findJob(job);
  return found?.metadata.uid !== uid;
}

/** Calls the listener when the job ends, also if it was deleted before anybody listened. */
function followEnd(
  parts: ApiParts,
  { job }: Granted,
  { which, listener }: { readonly which: JobRef; readonly listener: (end: JobEnd) => void },
): () => void {
  const stop = parts.onJobEnd(which, listener);
  isGone(parts, job, which.uid).then(
    (gone) => gone && listener("Deleted"),
    // The next check of the reader decides.
    () => {},
  );
  return stop;
}

/** Returns undefined if the reader of a stream may read on, else why it ends. */
async function readOn(
  parts: ApiParts,
  { token, job }: Granted,
  uid: string,
): Promise<Reauthorization> {
  const refused = await refusalOfReader(ofOpenStream(parts), token, job);
  if (refused !== undefined) return refusalOfStream(refused);
  return await isGone(parts, job, uid) ? { kind: "job", reason: "Deleted" } : undefined;
}

/** Returns a stream, if there is room for one more. */
export function watchResponse(
  parts: ApiParts,
  granted: Granted,
  job: AnyJob,
): HttpResponse | Refusal {
  const { query: { from, limit }, reader, token } = granted;
  const { clock } = parts;
  const slot = parts.slots.take(reader.username);
  if (typeof slot === "string") return refuseReader(slot, { retryAfterMs: ROOM_MS });
  const { kind } = granted.job;
  const which = jobRefOf(kind, job);
  const run = (sink: ResponseSink) =>
    runEventLoop({
      ...createWatch({
        from,
        signal: sink.signal,
        clock,
        random: parts.random ?? Math.random,
        read: (from) => askInTime(parts, which, { from, limit }),
        state: () => {
          const now = parts.jobNow(which);
          return now && jobState(kind, now, parts.outcomeOf(kind, now));
        },
        follow: (listener) => parts.follow(which, listener),
      }),
      sink,
      clock,
      expiresMs: token.expiresMs,
      onJobEnd: (listener) => followEnd(parts, granted, { which, listener }),
      reauthorize: () => readOn(parts, granted, which.uid),
    });
  return eventStreamResponse(slot, run);
}
