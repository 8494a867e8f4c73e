/** Size of a v1 job: more pods than it may have, and texts that name its pods and are too long. Pure. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { V1Kind } from "../../crds/v1/kinds.ts";
import { type PodCount, podCountProblem, podListProblem } from "../job_bounds.ts";
import type { KindRules } from "./kind_rules.ts";
import type { Replicas, Run } from "./run.ts";

function countOf({ specsKey }: Pick<V1Kind, "specsKey">, { type, count }: Replicas): PodCount {
  return { field: `spec.${specsKey}[${type}].replicas`, value: count, pods: count };
}

/** Returns the problem of a job that asks for too many pods. */
export function podProblem(
  kind: Pick<V1Kind, "specsKey">,
  replicas: readonly Replicas[],
  maxPods: number,
): FieldProblem | undefined {
  return podCountProblem(replicas.map((of) => countOf(kind, of)), maxPods);
}

/** Returns the problems of a job's size; of one with too many pods no text is validated. */
export function sizeProblems(run: Run, rules: KindRules): FieldProblem[] {
  if (run.tooLarge !== undefined) return [run.tooLarge];
  const [largest] = run.replicas.toSorted((a, b) => b.count - a.count);
  if (largest === undefined) return [];
  const where = countOf(run.kind, largest);
  return (rules.podLists?.(run) ?? [])
    .map((list) => podListProblem({ ...where, ...list }))
    .filter((problem) => problem !== undefined);
}
