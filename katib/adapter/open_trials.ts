/** Reads the logs of open trials that nobody pushes for: at the start of a term, and after what went wrong. */
import { getLogger } from "@logtape/logtape";
import { backoffMs } from "../../kube/backoff.ts";
import type { Clock } from "../../kube/clock.ts";
import { messageOf } from "../../kube/errors.ts";
import { inParallel } from "../../kube/parallel.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { Actors } from "./actors.ts";
import type { PlanSource } from "./adapter.ts";
import type { LogActor } from "./log_actor.ts";

/** Options of {@link createOpenTrials}. */
export interface OpenTrialsOptions {
  readonly plans: Pick<PlanSource, "open">;
  readonly actors: Pick<Actors, "get" | "of">;
  readonly clock: Clock;
  /** 0 to 1. */
  readonly random: () => number;
  /** Sees to what a log asks for, once it is read. */
  readonly decide: (actor: LogActor) => void;
  /** Logs that are read at a time. */
  readonly atOnce: number;
  /** Called at each look, every few seconds: lets go of what is over. */
  readonly tidy: () => void;
}

/** The open trials of one term. */
export interface OpenTrials {
  /** Reads every log that says nothing now, again and again, until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** The job is gone. */
  forget(jobUid: string): void;
}

/** How often it is looked for open trials whose log says nothing, in milliseconds. */
const LOOK_EVERY_MS = 5_000;
/** Pauses after reads that failed. */
const RETRY = { firstMs: 500, longestMs: LOOK_EVERY_MS } as const;

/** Creates {@link OpenTrials}. */
export function createOpenTrials(options: OpenTrialsOptions): OpenTrials {
  const { plans, actors, clock, random, decide, atOnce, tidy } = options;
  const log = getLogger(["milepost", "katib"]);
  /** Jobs whose log was read in this term. */
  const judged = new Set<string>();

  /** Whether its log says nothing now: it was not read, its plan is another, or a write went wrong. */
  function isUnread(plan: ObservationPlan): boolean {
    if (!judged.has(plan.job.uid)) return true;
    const actor = actors.get(plan.job.uid);
    if (actor === undefined) return false;
    return actor.plan !== plan || (actor.idle && actor.state === undefined);
  }

  /** Answers whether all could be read. */
  async function judge(signal: AbortSignal): Promise<boolean> {
    const errors = await inParallel(plans.open().filter(isUnread), async (plan) => {
      const actor = actors.of(plan);
      await actor.load();
      decide(actor);
      judged.add(plan.job.uid);
    }, { limit: atOnce, signal });
    if (errors.length > 0 && !signal.aborted) {
      log.debug("logs of open trials could not be read; trying again", {
        trials: errors.length,
        problem: messageOf(errors[0]),
      });
    }
    return errors.length === 0;
  }

  return {
    async run(signal) {
      let failures = 0;
      while (!signal.aborted) {
        tidy();
        const isDone = await judge(signal);
        failures = isDone ? 0 : failures + 1;
        await clock.sleep(isDone ? LOOK_EVERY_MS : backoffMs(failures, RETRY, random), signal);
      }
    },
    forget: (jobUid) => void judged.delete(jobUid),
  };
}
