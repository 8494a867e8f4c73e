/** Trial template of an observation plan, also of a template with mistakes. Pure. */
import type { TrainJob } from "../../crds/trainjob.ts";
import { mappingOf } from "../mapping/trial_template.ts";
import type { TrialMapping } from "../mapping/trial_mapping.ts";

/** Where no job has anything: what is asked of it is never met. */
const NEVER = "metadata.managedBy.nobody";

/** Reads a template for a TrainJob: the mapping, or each problem as `field: message`. */
export function readTemplate(
  template: unknown,
  { apiVersion, kind }: TrainJob,
): { mapping?: TrialMapping; problems: readonly string[] } {
  const result = mappingOf(template, { apiVersion, kind });
  if (result.ok) return { mapping: result.mapping, problems: [] };
  return {
    problems: result.problems.map(({ field, message }) =>
      field === "" ? message : `${field}: ${message}`
    ),
  };
}

/**
 * A template with conditions that cannot be read: its pods are recorded as it says, but its job is never
 * taken for succeeded. Undefined where more than that is wrong with it.
 */
export function readPodsOnly(template: unknown, trainJob: TrainJob): TrialMapping | undefined {
  if (typeof template !== "object" || template === null) return undefined;
  const { succeededCondition: _, failureCondition: _failure, ...rest }: Record<string, unknown> = {
    ...template,
  };
  return readTemplate({ ...rest, successCondition: NEVER }, trainJob).mapping;
}
