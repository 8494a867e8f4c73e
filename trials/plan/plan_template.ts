/** Template of a plan, and the usable rest of one that is wrong. Pure. */
import type { JobKind } from "../../crds/job_kind.ts";
import { mappingOf } from "../mapping/trial_template.ts";
import type { TrialMapping } from "../mapping/trial_mapping.ts";

/** A path that leads nowhere in any job, so that a test of it is never met. */
const NEVER = "metadata.managedBy.nobody";

/** Parses a template for a TrainJob. Returns the mapping, or each problem as `field: message`. */
export function readTemplate(
  template: unknown,
  kind: JobKind,
): { mapping?: TrialMapping; problems: readonly string[] } {
  const result = mappingOf(template, kind);
  if (result.ok) return { mapping: result.mapping, problems: [] };
  return {
    problems: result.problems.map(({ field, message }) =>
      field === "" ? message : `${field}: ${message}`
    ),
  };
}

/**
 * Parses a template with invalid conditions: the mapping has its primary pod, and its job never counts as
 * succeeded. Returns undefined if other fields are invalid, too.
 */
export function readPodsOnly(template: unknown, kind: JobKind): TrialMapping | undefined {
  if (typeof template !== "object" || template === null) return undefined;
  const { succeededCondition: _, failureCondition: _failure, ...rest }: Record<string, unknown> = {
    ...template,
  };
  return readTemplate({ ...rest, successCondition: NEVER }, kind).mapping;
}
