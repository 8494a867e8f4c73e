/** Notifier: tells sinks outside the cluster what becomes of jobs, from the leader's caches (docs/decisions/0082). */
import { getLogger } from "@logtape/logtape";
import type { WatchedJobs } from "../../crds/job_kind.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createNotices } from "../../platform/base/notices.ts";
import { isRemoval } from "../../platform/kube/watching/informer_cache.ts";
import { noticeOfChange } from "./notice_of_change.ts";
import { post, type Request } from "./post.ts";
import type { Sink } from "./notified_sink.ts";
import { createSinkQueue, type NotificationResult, QUEUE_LIMITS } from "./sink_queue.ts";

const log = getLogger(["milepost", "notifications"]);

/** Notices that are known to be told: a cache may hold a job anew. */
const TOLD = 10_000;

/** Options of {@link runNotifier}. */
export interface NotifierOptions {
  readonly jobs: WatchedJobs;
  readonly sinks: readonly Sink[];
  readonly clock: Clock;
  readonly request: Request;
  /** Whether this replica leads: only the leader tells. */
  readonly leading: () => boolean;
  readonly onResult: (of: { sink: string; result: NotificationResult }) => void;
  /** A number from 0 up to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Time for a request. */
  readonly deadlineMs?: number | undefined;
}

/**
 * Tells until `signal` aborts; at first again what happened within ten minutes: nobody knows what the leader before has
 * told.
 */
export async function runNotifier(options: NotifierOptions, signal: AbortSignal): Promise<void> {
  const { jobs, sinks, clock, leading, onResult, random = Math.random } = options;
  if (sinks.length === 0) return;
  const queues = sinks.map((sink) =>
    createSinkQueue({
      sink,
      clock,
      random,
      log,
      onResult: (result) => onResult({ sink: sink.name, result }),
      post: async (message, signal) =>
        leading()
          ? await post(sink, message, { ...options, signal })
          : { kind: "again", why: "this replica does not lead any more" },
    })
  );
  const isNews = createNotices(TOLD);
  const stops = [...jobs].map(([kind, cache]) =>
    cache.jobs.onChange((change) => {
      if (isRemoval(change)) return;
      const { object: job, old: before } = change;
      const afterMs = clock.now() - QUEUE_LIMITS.keptMs;
      const notice = noticeOfChange(kind, { before, job, afterMs });
      if (notice !== undefined && isNews(notice.id)) queues.forEach((it) => it.offer(notice));
    })
  );
  try {
    await Promise.all(queues.map((it) => it.run(signal)));
  } finally {
    stops.forEach((stop) => stop());
  }
}
