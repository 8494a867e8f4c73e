/** Replay of the logs of open trials, at the start of a term and after failures. */
import { getLogger } from "@logtape/logtape";
import { backoffMs } from "../../platform/base/backoff.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { Actors } from "./actors.ts";
import type { PlanSource } from "./observations.ts";
import type { LogActor } from "./log_actor.ts";

/** Interval between checks for logs whose state is not known, in milliseconds. */
const INTERVAL_MS = 5_000;
/** Pauses after failed reads. */
const RETRY = { firstMs: 250, longestMs: INTERVAL_MS } as const;

/** Creates the open trials of one term. */
export function createOpenTrials(options: {
  readonly plans: Pick<PlanSource, "openPlans">;
  readonly actors: Pick<Actors, "get" | "of">;
  readonly clock: Clock;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  /** Called with each log that was read. */
  readonly onRead: (actor: LogActor) => void;
  /** Logs that are read at a time. */
  readonly atOnce: number;
  /** Called every few seconds, to evict logs that are not needed. */
  readonly evict: () => void;
}) {
  const { plans, actors, clock, random, onRead, atOnce, evict } = options;
  const log = getLogger(["milepost", "katib"]);
  /** Jobs whose log was read in this term. */
  const read = new Set<string>();

  /** Whether its log may have to be read; a log that was evicted is read when it is needed. */
  function mayBeUnread({ job }: ObservationPlan): boolean {
    return !read.has(job.uid) || actors.get(job.uid) !== undefined;
  }

  /** Reads a log that was never read, whose plan changed, whose write failed, or that others write to. */
  async function readLog(plan: ObservationPlan): Promise<void> {
    const known = actors.get(plan.job.uid);
    const isUnread = !read.has(plan.job.uid) || known?.plan !== plan;
    if (!isUnread && known?.idle === false) return;
    const actor = isUnread || known === undefined ? actors.of(plan) : known;
    const wasRead = await actor.refresh();
    if (!wasRead && !isUnread) return;
    onRead(actor);
    read.add(plan.job.uid);
  }

  /** Reads logs. Returns whether all could be read. */
  async function readLogs(signal: AbortSignal): Promise<boolean> {
    const unread = plans.openPlans().filter(mayBeUnread);
    const errors = await inParallel(unread, readLog, { limit: atOnce, signal });
    if (errors.length > 0 && !signal.aborted) {
      log.debug("cannot read the logs of open trials; retrying", {
        trials: errors.length,
        problem: messageOf(errors[0]),
      });
    }
    return errors.length === 0;
  }

  return {
    /** Reads every log whose state is not known, every few seconds, until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      for (let failures = 0; !signal.aborted;) {
        evict();
        failures = await readLogs(signal) ? 0 : failures + 1;
        const pauseMs = failures === 0 ? INTERVAL_MS : backoffMs(failures, RETRY, random);
        await clock.sleep(pauseMs, signal);
      }
    },
    /** Forgets a job that was deleted. */
    forget: (jobUid: string) => void read.delete(jobUid),
  };
}
