/** Features of JobSets that the built-in executor does not execute: refused by name. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { JobSetSpec } from "../../crds/jobset.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";

/** The part of the metadata that the rules read. */
export interface JobSetMetadata {
  readonly name?: string;
  readonly generateName?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const PLACEMENT = [JOBSET_KEYS.exclusiveTopology, JOBSET_KEYS.nodeSelectorStrategy];

/** Returns a problem for each annotation of exclusive placement; `path` is that of the annotations. */
export function unsupportedPlacement(
  annotations: Readonly<Record<string, string>> | undefined,
  path: string,
): FieldProblem[] {
  return PLACEMENT.filter((key) => annotations?.[key] !== undefined).map((key) => ({
    field: `${path}[${key}]`,
    message: "exclusive placement is not supported by the built-in JobSet executor; remove it",
  }));
}

/** Returns a problem for every part of a JobSet that the built-in executor does not execute. */
export function unsupportedParts(spec: JobSetSpec, metadata: JobSetMetadata = {}): FieldProblem[] {
  const problems = unsupportedPlacement(metadata.annotations, "metadata.annotations");
  spec.replicatedJobs?.forEach(({ template }, index) => {
    const path = `spec.replicatedJobs[${index}].template.metadata.annotations`;
    problems.push(...unsupportedPlacement(template.metadata?.annotations, path));
  });
  if (spec.volumeClaimPolicies?.length) {
    problems.push({
      field: "spec.volumeClaimPolicies",
      message: "is not supported by the built-in JobSet executor; mount an existing claim instead",
    });
  }
  if (spec.failurePolicy?.restartStrategy === "InPlaceRestart") {
    problems.push({
      field: "spec.failurePolicy.restartStrategy",
      message:
        "InPlaceRestart is not supported by the built-in JobSet executor; use Recreate or BlockingRecreate",
    });
  }
  spec.failurePolicy?.rules?.forEach(({ action }, index) => {
    if (action !== "RestartJob" && action !== "RestartJobAndIgnoreMaxRestarts") return;
    problems.push({
      field: `spec.failurePolicy.rules[${index}].action`,
      message: `${action} is not supported by the built-in JobSet executor; use RestartJobSet or ` +
        "RestartJobSetAndIgnoreMaxRestarts",
    });
  });
  return problems;
}
