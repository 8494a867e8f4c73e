/** Outcome of a job by its trial's template, and the pods that are primary. */
import { hasLabels } from "../../crds/label_selector.ts";
import { Budget, BudgetError } from "../gjson/budget.ts";
import { evaluate } from "../gjson/evaluate.ts";
import { isObject, membersOf } from "../gjson/gjson_values.ts";
import { jsonTextOf } from "../gjson/json_text.ts";
import type { JobOutcome, JobTest, TrialMapping } from "./trial_mapping.ts";

/** Whether a pod with these labels is primary: it has every label that the template names, if any. */
export function isPrimaryPod(
  mapping: TrialMapping,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return hasLabels(labels ?? {}, mapping.primaryPodLabels ?? {});
}

/** Whether a container is the one that trains; one that does not say its name counts as that. */
export function isPrimaryContainer(
  { primaryContainerName }: TrialMapping,
  container: string | undefined,
): boolean {
  return container === undefined || primaryContainerName === undefined ||
    container === primaryContainerName;
}

/**
 * Returns the outcome of a job of any kind; failure is tested before success. A condition is met if its
 * expression leads to an object or to an array that is not empty; reason and message are those of the object
 * or of the array's first element (kubeflow/katib: pkg/controller.v1beta1/trial/util/job_util.go). Never
 * throws, and ends soon for any job: an undecidable condition is a problem, and no outcome.
 */
export function outcomeOf(mapping: TrialMapping, job: unknown): JobOutcome {
  const tests = [["Failed", mapping.failure], ["Succeeded", mapping.success]] as const;
  for (const [state, test] of tests) {
    const met = test === undefined ? undefined : meets(test, job);
    if (met === undefined) continue;
    if ("problem" in met) return { problem: problemOf(state, test, met.problem) };
    return { state, ...met };
  }
  return { state: "Undecided" };
}

function problemOf(state: string, test: JobTest | undefined, problem: string): string {
  const field = state === "Failed" ? "failureCondition" : "successCondition";
  return `${field} ${test?.expression ?? ""}: ${problem}`;
}

/** Reason and message of the object that met a test. */
interface ConditionText {
  readonly reason?: string;
  readonly message?: string;
}

/** Returns undefined if the test is not met. */
function meets(
  test: JobTest,
  job: unknown,
): ConditionText | { readonly problem: string } | undefined {
  const found = evaluate(test.path, job);
  if ("problem" in found) return found;
  const value = Array.isArray(found.value) ? found.value[0] : found.value;
  if (Array.isArray(found.value) ? found.value.length === 0 : !isObject(value)) return undefined;
  // Go's decoder gets an element's text, which may hold a whole condition.
  const condition = typeof value === "string" ? jsonTextOf(value) : value;
  if (!isObject(condition)) return { problem: "is met by a value that is not a condition" };
  return textOf(condition);
}

/** Reads as Go's decoder does: keys in any case, the last of them counts, and null is ignored. */
function textOf(condition: object): ConditionText | { readonly problem: string } {
  let reason = "";
  let message = "";
  try {
    for (const [key, value] of membersOf(condition, new Budget())) {
      const name = key.toLowerCase().replaceAll("ſ", "s");
      if (value === null || !["condition", "reason", "message"].includes(name)) continue;
      if (typeof value !== "string") {
        return { problem: `is met by an object whose ${key} is not a string` };
      }
      if (name === "reason") reason = value;
      if (name === "message") message = value;
    }
  } catch (error) {
    if (error instanceof BudgetError) return { problem: error.message };
    throw error;
  }
  return { ...(reason === "" ? {} : { reason }), ...(message === "" ? {} : { message }) };
}
