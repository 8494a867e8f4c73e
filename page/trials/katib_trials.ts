/** Trials of Katib as trials of a search, and the jobs that they name. Pure. */
import { type JsonObject, objectAt, objectsAt, textAt } from "../../crds/json.ts";
import { KATIB, TRIAL_CONDITIONS } from "../../crds/katib_names.ts";
import { NAME_PATTERN } from "../../http/routes.ts";
import { heldBy, present, realTime } from "./katib_objects.ts";
import {
  type FoundTrial,
  type NamedTrialJob,
  SEARCH_LIMITS,
  shortText,
  type TrialMetric,
  type TrialState,
  type TrialStop,
} from "./search.ts";
import { stopOfTrial } from "./trial_stop_words.ts";

/** States by the conditions that mean them; an early stop comes before what Katib adds to it later. */
const TRIAL_STATES: readonly (readonly [type: string, state: TrialState])[] = [
  [TRIAL_CONDITIONS.earlyStopped, "EarlyStopped"],
  [TRIAL_CONDITIONS.failed, "Failed"],
  [TRIAL_CONDITIONS.killed, "Killed"],
  [TRIAL_CONDITIONS.metricsUnavailable, "MetricsUnavailable"],
  [TRIAL_CONDITIONS.succeeded, "Complete"],
  [TRIAL_CONDITIONS.running, "Running"],
];
const SAYING: readonly TrialState[] = ["Failed", "Killed", "MetricsUnavailable"];

/** Returns the metrics of an observation, each value but those that Katib calls unavailable. */
function metricsOf(trial: unknown): readonly TrialMetric[] {
  const known = (text: string | undefined) => text === KATIB.unavailable ? undefined : text;
  return objectsAt(objectAt(trial, "status", "observation"), "metrics")
    .slice(0, SEARCH_LIMITS.metrics)
    .map((it) => ({
      name: shortText(textAt(it, "name") ?? ""),
      ...present({
        min: known(textAt(it, "min")),
        max: known(textAt(it, "max")),
        latest: known(textAt(it, "latest")),
      }),
    }));
}

/** A job of a Trial, by the kind of `spec.runSpec`. */
export interface JobOfTrial {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

const NAME = new RegExp(`^${NAME_PATTERN}$`);

/** Returns the job that Katib makes of a Trial; undefined if it does not say which, or one that cannot be. */
export function jobOfTrial(trial: unknown): JobOfTrial | undefined {
  const run = objectAt(trial, "spec", "runSpec");
  const [apiVersion, kind] = [textAt(run, "apiVersion"), textAt(run, "kind")];
  if (apiVersion === undefined || kind === undefined) return undefined;
  const name = textAt(run, "metadata", "name") ?? textAt(trial, "metadata", "name") ?? "";
  if (!NAME.test(name)) return undefined;
  return { apiVersion, kind, namespace: textAt(trial, "metadata", "namespace") ?? "", name };
}

/** Whether the Trial was stopped early. */
export const isStoppedEarly = (trial: unknown): boolean =>
  heldBy(trial, TRIAL_CONDITIONS.earlyStopped) !== undefined;

/** Returns a Trial; `job` and `stop` are what is known of its job. */
export function trialOf(
  trial: JsonObject,
  { job, stop }: { readonly job?: NamedTrialJob; readonly stop?: TrialStop } = {},
): FoundTrial {
  const found = TRIAL_STATES.flatMap(([type, state]) => {
    const condition = heldBy(trial, type);
    return condition === undefined ? [] : [{ state, condition }];
  })[0];
  const state = found?.state ?? "Created";
  const message = SAYING.includes(state) ? textAt(found?.condition, "message") : undefined;
  const isOver = !["Created", "Running"].includes(state);
  const ended = realTime(textAt(trial, "status", "completionTime")) ??
    (isOver ? realTime(textAt(found?.condition, "lastTransitionTime")) : undefined);
  const rules = objectsAt(objectAt(trial, "spec"), "earlyStoppingRules");
  return {
    name: textAt(trial, "metadata", "name") ?? "",
    state,
    assignments: objectsAt(objectAt(trial, "spec"), "parameterAssignments")
      .slice(0, SEARCH_LIMITS.parameters)
      .map((it) => ({
        name: shortText(textAt(it, "name") ?? ""),
        value: textAt(it, "value") ?? String(it.value ?? ""),
      })),
    metrics: metricsOf(trial),
    ...present({
      message: message && shortText(message),
      created: textAt(trial, "metadata", "creationTimestamp"),
      started: realTime(textAt(trial, "status", "startTime")),
      ended,
      job,
      stop: state === "EarlyStopped" ? stopOfTrial(rules, stop) : stop,
    }),
  };
}
