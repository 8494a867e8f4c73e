/** Cache of log actors by log and by TrainJob; the least recently used ones are evicted. */
import { type LogKey, logKeyText } from "../../trials/recording/observation_row.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { LogActor } from "./log_actor.ts";

/** Actors that are considered for eviction for each new one: if many are busy it takes a few calls. */
const CONSIDERED = 32;

/** Log actors by log and by TrainJob. */
export type Actors = ReturnType<typeof createActors>;

/** Creates {@link Actors}, empty. */
export function createActors({ create, isBusy, max }: {
  readonly create: (plan: ObservationPlan) => LogActor;
  /** Whether it must be kept, since work is under way that only it knows of. */
  readonly isBusy: (actor: LogActor) => boolean;
  /** Most actors, not counting those that are busy. */
  readonly max: number;
}) {
  /** By log; the most recently used actor comes last. */
  const actors = new Map<string, LogActor>();
  /** Logs by the UID of their TrainJob. */
  const logs = new Map<string, string>();

  function discard(text: string, actor: LogActor): void {
    actors.delete(text);
    const { uid } = actor.plan.job;
    if (logs.get(uid) === text) logs.delete(uid);
  }

  function evict(keep: number, isOver: (actor: LogActor) => boolean, considered = Infinity): void {
    for (const [text, actor] of actors) {
      if (actors.size <= keep || considered-- <= 0) return;
      if (!isBusy(actor) && isOver(actor)) discard(text, actor);
    }
  }

  const get = (jobUid: string) => actors.get(logs.get(jobUid) ?? "");

  return {
    /** Returns the log's actor with this plan, and creates it if there is none. */
    of(plan: ObservationPlan): LogActor {
      const text = logKeyText(plan.key);
      const known = actors.get(text);
      if (known !== undefined) {
        discard(text, known);
        known.usePlan(plan);
      }
      evict(max - 1, () => true, CONSIDERED);
      const actor = known ?? create(plan);
      actors.set(text, actor);
      logs.set(plan.job.uid, text);
      return actor;
    },
    /** Returns the actor of a log, if there is one. */
    ofLog: (key: LogKey) => actors.get(logKeyText(key)),
    /** Returns the actor of a TrainJob, by its UID. */
    get,
    /** Removes the actor of a TrainJob, and returns it. */
    remove(jobUid: string): LogActor | undefined {
      const actor = get(jobUid);
      if (actor !== undefined) discard(logs.get(jobUid) ?? "", actor);
      return actor;
    },
    /** Evicts the least recently used actors that are over and not busy, until `keep` are left. */
    evict,
    all: () => [...actors.values()],
  };
}
