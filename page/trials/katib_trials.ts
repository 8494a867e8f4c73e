/** Trials of Katib as trials of a search, and the jobs that they name. Pure. */
import { compact, type JsonObject, objectAt, objectsAt, textAt } from "../../platform/base/json.ts";
import { KATIB, TRIAL_CONDITIONS } from "../../crds/katib_names.ts";
import { NAME_PATTERN } from "../../platform/http/routes.ts";
import { heldBy, objectiveOfSpec, realTime, strategiesOfSpec } from "./katib_objects.ts";
import {
  type FoundTrial,
  SEARCH_LIMITS,
  searchNamedBy,
  shortText,
  type TrialMetric,
} from "./search.ts";
import type { TrialState } from "../../crds/wire/searches.ts";
import { rulesInWords, stopOfTrial } from "./trial_stop_words.ts";

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
  const known = (text: string | undefined) =>
    !text || text === KATIB.unavailable ? undefined : shortText(text);
  return objectsAt(objectAt(trial, "status", "observation"), "metrics")
    .slice(0, SEARCH_LIMITS.metrics)
    .map((it) => ({
      name: shortText(textAt(it, "name") ?? ""),
      ...compact({
        min: known(textAt(it, "min")),
        max: known(textAt(it, "max")),
        latest: known(textAt(it, "latest")),
      }),
    }));
}

const NAME = new RegExp(`^${NAME_PATTERN}$`);
/** Longest `apiVersion`, and longest kind. */
const MAX_NAME = 253;

/** Returns the job that Katib makes of a Trial, by the kind of `spec.runSpec`; undefined if it does not say which, or one that cannot be. */
export function jobOfTrial(trial: unknown) {
  const run = objectAt(trial, "spec", "runSpec");
  const [apiVersion, kind] = [textAt(run, "apiVersion"), textAt(run, "kind")];
  if (apiVersion === undefined || kind === undefined) return undefined;
  if (apiVersion.length > MAX_NAME || kind.length > MAX_NAME) return undefined;
  const name = textAt(run, "metadata", "name") ?? textAt(trial, "metadata", "name") ?? "";
  if (!NAME.test(name)) return undefined;
  return { apiVersion, kind, namespace: textAt(trial, "metadata", "namespace") ?? "", name };
}

/** What is kept of a Trial, which may be a megabyte. */
export type ReadTrial = ReturnType<typeof readTrial>;

/** Whether the Trial was stopped early. */
export const isStoppedEarly = ({ found }: Pick<ReadTrial, "found">): boolean =>
  found.state === "EarlyStopped";

/** Reads a Trial. */
export function readTrial(trial: JsonObject) {
  const held = TRIAL_STATES.flatMap(([type, state]) => {
    const condition = heldBy(trial, type);
    return condition === undefined ? [] : [{ state, condition }];
  })[0];
  const state = held?.state ?? "Created";
  const message = SAYING.includes(state) ? textAt(held?.condition, "message") : undefined;
  const isOver = !["Created", "Running"].includes(state);
  const ended = realTime(textAt(trial, "status", "completionTime")) ??
    (isOver ? realTime(textAt(held?.condition, "lastTransitionTime")) : undefined);
  const spec = objectAt(trial, "spec");
  return {
    uid: textAt(trial, "metadata", "uid") ?? "",
    /** The search that its label names. */
    of: searchNamedBy(trial),
    /** As it says itself. */
    found: {
      name: textAt(trial, "metadata", "name") ?? "",
      state,
      assignments: objectsAt(spec, "parameterAssignments")
        .slice(0, SEARCH_LIMITS.parameters)
        .map((it) => ({
          name: shortText(textAt(it, "name") ?? ""),
          value: shortText(textAt(it, "value") ?? String(it.value ?? "")),
        })),
      metrics: metricsOf(trial),
      ...compact({
        message: message && shortText(message),
        created: textAt(trial, "metadata", "creationTimestamp"),
        started: realTime(textAt(trial, "status", "startTime")),
        ended,
      }),
    },
    /** Its rules, in words. */
    rules: rulesInWords(objectsAt(spec, "earlyStoppingRules")),
    strategies: strategiesOfSpec(spec),
    ...compact({ job: jobOfTrial(trial), objective: objectiveOfSpec(spec) }),
  };
}

/** Returns a Trial; `job`, `stop` and `message`, why it fails, are what is known of its job. */
export function trialOf(
  trial: ReadTrial,
  { job, stop, message }: Pick<FoundTrial, "job" | "stop" | "message"> = {},
): FoundTrial {
  return {
    ...trial.found,
    ...compact({
      job,
      message: message ?? trial.found.message,
      stop: isStoppedEarly(trial) ? stopOfTrial(trial.rules, stop) : stop,
    }),
  };
}
