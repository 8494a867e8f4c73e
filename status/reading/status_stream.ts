/** Status of a job as server-sent events. */
import {
  type EventLoopOptions,
  eventText,
  runEventLoop,
  type WriteEvents,
} from "../../platform/http/event_stream.ts";
import { isNews, type JobStatus, statusView, timeOf } from "../../owner/ledger/reading.ts";

export {
  commentText,
  eventText,
  type JobEnd,
  type StreamEnd,
} from "../../platform/http/event_stream.ts";

/** Options of {@link runEventStream}. */
export interface EventStreamOptions
  extends Omit<EventLoopOptions, "follow" | "sendNews" | "sendLast"> {
  /** Calls the listener with each status of the job. Returns how to stop that. */
  readonly follow: (listener: (status: JobStatus) => void) => () => void;
  /** Returns the newest status at the job's end; undefined if it is out of reach. */
  readonly lastStatus: () => Promise<JobStatus | undefined>;
}

/** Sends statuses, each newer than the one before, with ids that increase. */
function createSender() {
  let last: JobStatus | undefined;
  let lastId = 0;
  return async (status: JobStatus | undefined, write: WriteEvents): Promise<void> => {
    if (status === undefined || !isNews(status, last)) return;
    last = status;
    lastId = Math.max(lastId + 1, timeOf(status.receivedTime));
    await write(eventText("status", lastId, statusView(status)));
  };
}

/**
 * Sends the current status and each newer one, a comment line every 15 s, and `event: end` when the
 * job ends. Resolves when the stream is over: then the sink may be closed. A reader that is slow gets
 * the newest status only; one that takes nothing for 30 s is cut.
 */
export async function runEventStream(options: EventStreamOptions): Promise<void> {
  const send = createSender();
  let newest: JobStatus | undefined;
  await runEventLoop({
    ...options,
    follow: (listener) =>
      options.follow((status) => {
        newest = status;
        listener();
      }),
    sendNews: (write) => send(newest, write),
    sendLast: async (write) => await send(await options.lastStatus(), write),
  });
}
