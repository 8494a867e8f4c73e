/** The last steps of a read: the newest status of the owner, once, or as a stream of events. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { Clock } from "../../kube/clock.ts";
import { okResponse, refusalMessage } from "../chain/answer.ts";
import type { HttpResponse } from "../../http/message.ts";
import * as caller from "../chain/caller.ts";
import { type JobEnd, runEventStream, type StreamEnd } from "./status_stream.ts";
import { type Exchange, found, type Outcome, type Stage } from "../chain/exchange.ts";
import { type ReadAnswer, type ReadStatus, statusView } from "./reading.ts";
import type { StageParts } from "../chain/stages.ts";
import type { StatusFeeds } from "./status_feeds.ts";
import type { StreamPlaces } from "../../http/limits/stream_limits.ts";

/** What reading works with. */
export interface ReadingParts {
  readonly read: ReadStatus;
  readonly feeds: Pick<StatusFeeds, "follow">;
  readonly places: StreamPlaces;
  /** Hears that the job has ended, at once where it has; answers how to stop that. */
  readonly onJobEnd: (job: JobRef, listener: (end: JobEnd) => void) => () => void;
}

/** Time after which a client may come again while the owner is slow. */
const SOON_MS = 1000;
/** Time after which there may be room for one more stream. */
const ROOM_MS = 10_000;

const NO_READING: Outcome = {
  why: "unavailable",
  reason: "this endpoint hands out no status",
  retryAfterMs: 60_000,
};

function jobOf(exchange: Exchange): JobRef {
  return { ...found(exchange.job, "job"), uid: found(exchange.jobUid, "job's UID") };
}

/** Reads within the deadline that a push has, too. */
async function readInTime(
  { read }: ReadingParts,
  job: JobRef,
  { clock, acceptDeadlineMs }: { readonly clock: Clock; readonly acceptDeadlineMs: number },
): Promise<ReadAnswer> {
  const over = new AbortController();
  const late = clock.sleep(acceptDeadlineMs, over.signal).then((): ReadAnswer => ({
    retryAfterMs: SOON_MS,
    reason: "the owner of this job's status did not answer in time: try again soon",
  }));
  try {
    return await Promise.race([read(job, over.signal), late]);
  } finally {
    over.abort();
  }
}

/** Answers with the newest status, 404 where nothing was pushed yet. */
export function read(parts: StageParts): Stage["run"] {
  return async (exchange) => {
    const { reading } = parts;
    if (reading === undefined) return NO_READING;
    const answer = await readInTime(reading, jobOf(exchange), parts);
    if (!answer.ok) {
      const { reason, retryAfterMs } = answer;
      return { why: "unavailable", reason, retryAfterMs };
    }
    if (answer.status === undefined) return { why: "no_status" };
    exchange.response = okResponse(statusView(answer.status));
    return undefined;
  };
}

/** Whether the reader of a stream may read on: what said yes at its beginning is asked again. */
function createReauthorize(parts: StageParts, exchange: Exchange) {
  const stages = [
    caller.refusedTokens(parts),
    caller.identity(parts),
    caller.scope,
    caller.ownership(parts),
    caller.review(parts),
  ];
  return async (): Promise<StreamEnd | undefined> => {
    const again: Exchange = { ...exchange };
    for (const stage of stages) {
      const refusal = await stage(again);
      // Nobody can say now: that takes no rights away.
      if (refusal === undefined || refusal.why === "unavailable") continue;
      if (refusal.why === "unknown_job") return { kind: "job", reason: "Deleted" };
      return { kind: "reader", why: refusalMessage(refusal) };
    }
    // Another job of its name.
    return again.jobUid === exchange.jobUid ? undefined : { kind: "job", reason: "Deleted" };
  };
}

function streamOf(
  parts: StageParts,
  reading: ReadingParts,
  exchange: Exchange,
): NonNullable<HttpResponse["stream"]> {
  const job = jobOf(exchange);
  const { clock } = parts;
  return (sink) =>
    runEventStream({
      sink,
      clock,
      expiresMs: found(exchange.identity, "identity").expiresMs,
      follow: (listener) => reading.feeds.follow(job, listener),
      onJobEnd: (listener) => reading.onJobEnd(job, listener),
      lastStatus: async () => {
        const answer = await readInTime(reading, job, parts);
        return answer.ok ? answer.status : undefined;
      },
      reauthorize: createReauthorize(parts, exchange),
    });
}

/** Answers with server-sent events, where there is room for one more stream. */
export function watch(parts: StageParts): Stage["run"] {
  return (exchange) => {
    const { reading } = parts;
    if (reading === undefined) return NO_READING;
    const { subject } = found(exchange.identity, "identity");
    const place = reading.places.take(subject);
    if (typeof place === "string") return { why: place, retryAfterMs: ROOM_MS };
    const stream = streamOf(parts, reading, exchange);
    exchange.response = {
      status: 200,
      headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-store" },
      body: "",
      // Called once, whatever becomes of the client.
      stream: (sink) => stream(sink).finally(place.release),
    };
    return undefined;
  };
}
