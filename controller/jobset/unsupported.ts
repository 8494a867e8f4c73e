/** Features of JobSets that the built-in executor does not execute: refused by name. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { JobSetSpec } from "../../crds/jobset.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import type { ObjectMeta } from "../../platform/kube/kubernetes.ts";
import { isReserved, placementAnnotations } from "./placement.ts";

/** The part of the metadata that the rules read. */
export type JobSetMetadata = Pick<ObjectMeta, "name" | "generateName" | "annotations">;

const { exclusiveTopology, nodeSelectorStrategy } = JOBSET_KEYS;

/** Returns a problem for exclusive placement without reserved nodes; `path` is that of the annotations. */
export function unsupportedPlacement(
  annotations: ObjectMeta["annotations"],
  path: string,
): FieldProblem[] {
  if (annotations?.[exclusiveTopology] === undefined || isReserved(annotations)) return [];
  const message =
    `is supported by the built-in JobSet executor only beside ${nodeSelectorStrategy}, ` +
    "for nodes that are reserved for each Job by a label; set that too, or remove it";
  return [{ field: `${path}[${exclusiveTopology}]`, message }];
}

/** Returns a problem for each place that asks for an exclusive placement which nothing carries out. */
function placementProblems(spec: JobSetSpec, metadata: JobSetMetadata): FieldProblem[] {
  const problems = (spec.replicatedJobs ?? []).flatMap(({ template }, index) => {
    const own = template.metadata?.annotations;
    const isOwn = own?.[exclusiveTopology] !== undefined;
    const path = isOwn
      ? `spec.replicatedJobs[${index}].template.metadata.annotations`
      : "metadata.annotations";
    const all = { ...own, ...placementAnnotations(metadata, template.metadata) };
    return unsupportedPlacement(all, path);
  });
  return [...new Map(problems.map((problem) => [problem.field, problem])).values()];
}

/** Returns a problem for every part of a JobSet that the built-in executor does not execute. */
export function unsupportedParts(spec: JobSetSpec, metadata: JobSetMetadata = {}): FieldProblem[] {
  const problems = placementProblems(spec, metadata);
  if (spec.failurePolicy?.restartStrategy === "InPlaceRestart") {
    problems.push({
      field: "spec.failurePolicy.restartStrategy",
      message:
        "InPlaceRestart is not supported by the built-in JobSet executor; use Recreate or BlockingRecreate",
    });
  }
  return problems;
}
