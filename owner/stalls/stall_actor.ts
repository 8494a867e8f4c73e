/** Actor of stalls: restarts or stops stalled jobs as their policies say, and says why not (docs/decisions/0084). */
import { getLogger } from "@logtape/logtape";
import type { AnyJob } from "../../crds/job_kind.ts";
import { checkpointOf, restartOf } from "../../crds/job_state.ts";
import { EVENT_REASONS, STALLED_REASON } from "../../crds/names.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createNotices } from "../../platform/base/notices.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { aboutJob } from "../../trials/plan/notice.ts";
import {
  type BegunRestart,
  hasTurn,
  recentRestarts,
  stallActionOf,
} from "../../trials/stalls/stall_action.ts";
import type { Moment } from "../../trials/stalls/time_spent.ts";
import { verdictOf } from "../../trials/stalls/stall_verdict.ts";
import type { RestartStore } from "../restarts/restart_store.ts";
import type { StallEnd } from "./stall_end.ts";
import type { WatchedRun } from "./watched_run.ts";

const log = getLogger(["milepost", "manager"]);

/** Jobs of which something is remembered. */
const MAX_JOBS = 100_000;
/** Jobs that are acted on at a time. */
const AT_ONCE = 8;
/** Time after an act until the next one on the same job, in milliseconds: caches show it by then. */
const AGAIN_MS = 10_000;
/** The same where the definition of the kind drops restarts: somebody has to change that. */
const DROPPED_MS = 600_000;

/** Options of {@link createStallActor}. */
export interface StallActorOptions {
  readonly restart: RestartStore["store"];
  readonly end: StallEnd;
  readonly clock: Pick<Clock, "monotonic">;
  readonly events?: Pick<EventRecorder, "record"> | undefined;
}

/** What is found of a stalled job. */
export interface FoundStall {
  readonly run: WatchedRun;
  readonly object: AnyJob;
  readonly isStorm: boolean;
  readonly now: Moment;
}

/** Creates the actor of one term. */
export function createStallActor({ restart, end, clock, events }: StallActorOptions) {
  const isNews = createNotices(MAX_JOBS);
  /** Until when nothing is done with a job, by UID. */
  const busy = createBoundedCache<number>(MAX_JOBS);
  const pending = new Set<Promise<void>>();
  let begun: readonly BegunRestart[] = [];

  /** Tells once a stall that nothing more is done. */
  function tellLimit({ job, stall }: WatchedRun, why: string): void {
    if (!isNews(job.uid, stall?.time)) return;
    const message = `not restarted any more: ${why}`;
    const reason = EVENT_REASONS.restartLimitReached;
    events?.record(aboutJob(job), { type: "Warning", reason, message });
  }

  function perform({ job }: WatchedRun, act: () => Promise<void>): void {
    busy.set(job.uid, Infinity);
    const acting = act().catch((error) => {
      const problem = messageOf(error);
      log.debug("cannot act on a stalled job; retrying", { job: job.name, problem });
    }).finally(() => {
      pending.delete(acting);
      if (busy.get(job.uid) === Infinity) busy.set(job.uid, clock.monotonic() + AGAIN_MS);
    });
    pending.add(acting);
  }

  return {
    /** Acts on a job that is stalled, if its policy says so. Returns what is said of it; undefined: nothing is. */
    consider({ run, object, isStorm, now }: FoundStall, signal: AbortSignal): string | undefined {
      const { job, policy, stall } = run;
      const { monotonicMs, wallMs: nowMs } = now;
      const isBusy = monotonicMs < (busy.get(job.uid) ?? 0) || pending.size >= AT_ONCE;
      // What was stalled to an owner before this one may go on: its silence began anew.
      const isSeen = verdictOf(run.watch, monotonicMs, policy) === "stalled";
      if (stall === undefined || isBusy || !isSeen) return run.note;
      const last = restartOf(object);
      const action = stallActionOf({
        policy,
        stall,
        ...run.stallFacts(monotonicMs),
        isStorm,
        checkpoint: checkpointOf(object),
        last,
        hasTurn: hasTurn(begun, job.namespace, monotonicMs),
        nowMs,
      });
      switch (action.kind) {
        case "notify":
          return undefined;
        case "wait":
          return run.note;
        case "held":
        case "limit":
          if (action.kind === "limit") tellLimit(run, action.why);
          return `not ${policy.action === "Stop" ? "stopped" : "restarted"}: ${action.why}`;
        case "stop": {
          const { message } = run.stallAt(now);
          perform(run, () => end(job, message, signal));
          return undefined;
        }
        case "restart": {
          const turn = { namespace: job.namespace, atMs: monotonicMs };
          begun = [...recentRestarts(begun, monotonicMs), turn];
          const { message } = run.stallAt(now);
          const asked = { reason: STALLED_REASON, message, budget: action.budget };
          perform(run, async () => {
            const count = (last?.count ?? 0) + 1;
            const { kind } = await restart({ job, count, ...asked }, signal);
            if (kind !== "stored") begun = begun.filter((it) => it !== turn);
            if (kind !== "pruned") return;
            busy.set(job.uid, clock.monotonic() + DROPPED_MS);
            tellLimit(
              run,
              `the definition of ${job.kind.kind} in this cluster drops status.restart`,
            );
          });
          return undefined;
        }
      }
    },
    /** Resolves when nothing is under way. */
    settled: async (): Promise<void> => void await Promise.all(pending),
  };
}
