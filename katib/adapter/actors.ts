/** The logs that an owner has in hand, by log and by TrainJob; the longest unused are let go. */
import type { LogKey } from "../../trials/recording/observation_row.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { LogActor } from "./log_actor.ts";

/** Options of {@link createActors}. */
export interface ActorsOptions {
  readonly create: (plan: ObservationPlan) => LogActor;
  /** Whether it must be kept: work is under way that only it knows of. */
  readonly isBusy: (actor: LogActor) => boolean;
  /** Most of them, but for those that are busy. */
  readonly max: number;
}

/** Actors by log and by TrainJob. */
export interface Actors {
  /** The log's actor, made where there is none, with this plan. */
  of(plan: ObservationPlan): LogActor;
  /** By the UID of its TrainJob. */
  get(jobUid: string): LogActor | undefined;
  /** Lets go of it, and answers it. */
  remove(jobUid: string): LogActor | undefined;
  /** Lets go of the longest unused that are over, and not busy, as long as there are more than `keep`. */
  tidy(keep: number, isOver: (actor: LogActor) => boolean): void;
  all(): LogActor[];
}

/** Actors that are looked at each time for one to let go: where many are busy it takes a few times. */
const LOOK_AT = 32;

function textOf({ kind, namespace, name, uid }: LogKey): string {
  return [kind, namespace, name, uid].join("/");
}

/** Creates {@link Actors}, empty. */
export function createActors({ create, isBusy, max }: ActorsOptions): Actors {
  /** The last one used stands last. */
  const actors = new Map<string, LogActor>();
  const logs = new Map<string, string>();

  function letGo(text: string, actor: LogActor): void {
    actors.delete(text);
    const { uid } = actor.plan.job;
    if (logs.get(uid) === text) logs.delete(uid);
  }

  function makeRoom(): void {
    let looked = 0;
    for (const [text, actor] of actors) {
      if (actors.size < max || ++looked > LOOK_AT) return;
      if (!isBusy(actor)) letGo(text, actor);
    }
  }

  const get = (jobUid: string) => actors.get(logs.get(jobUid) ?? "");

  return {
    of(plan) {
      const text = textOf(plan.key);
      const known = actors.get(text);
      if (known !== undefined) {
        letGo(text, known);
        known.adopt(plan);
      }
      makeRoom();
      const actor = known ?? create(plan);
      actors.set(text, actor);
      logs.set(plan.job.uid, text);
      return actor;
    },
    get,
    remove(jobUid) {
      const actor = get(jobUid);
      if (actor !== undefined) letGo(logs.get(jobUid) ?? "", actor);
      return actor;
    },
    tidy(keep, isOver) {
      for (const [text, actor] of actors) {
        if (actors.size <= keep) return;
        if (!isBusy(actor) && isOver(actor)) letGo(text, actor);
      }
    },
    all: () => [...actors.values()],
  };
}
