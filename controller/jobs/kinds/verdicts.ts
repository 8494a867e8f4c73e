/** Verdicts that several v1 kinds share: by the state of all pods of a type. */
import { type Counts, NO_PODS, type PodsByType, type TypeVerdict } from "../kind_rules.ts";
import { replicasOf, type Run } from "../run.ts";

/** Returns the counts of a type. */
export function countsOf({ counts }: PodsByType, type: string): Counts {
  return counts.get(type) ?? NO_PODS;
}

/** A type that decides nothing but by its failures. */
export function failsOnly(byType: PodsByType, type: string): TypeVerdict {
  return { running: false, succeeded: false, failed: countsOf(byType, type).permanent > 0 };
}

/** A type whose pods run for the job, and which has succeeded when all of them have: at once if it has none. */
export function decides(run: Run, type: string, byType: PodsByType): TypeVerdict {
  const { active, succeeded } = countsOf(byType, type);
  const of = replicasOf(run, type);
  return {
    ...failsOnly(byType, type),
    running: active > 0,
    succeeded: of !== undefined && succeeded >= of.count,
  };
}

/** The verdict of a kind with a type that speaks for the job; the others decide nothing but by their failures. */
export const decidedBy =
  (deciderOf: (run: Run) => string | undefined) =>
  (run: Run, type: string, byType: PodsByType): TypeVerdict =>
    type === deciderOf(run) ? decides(run, type, byType) : failsOnly(byType, type);

/** The verdict of a kind with a master, which decides if there is one; else the workers do. */
export const masterDecides = decidedBy((run) => replicasOf(run, "Master") ? "Master" : "Worker");
