/** Parser of the annotation by which jobs of a search say what they are compared by. */
import type { ReadAnnotation } from "./early_stopping.ts";
import { PUSH_LIMITS } from "./names.ts";
import type { Objective } from "./wire/searches.ts";

/** Every name that a push may have: of any characters, also of blanks within. */
const OBJECTIVE = new RegExp(
  `^(?<direction>minimize|maximize) (?<metric>\\S.{0,${PUSH_LIMITS.metricNameLength - 1}})$`,
  "su",
);

/** Reads the annotation `trainer.kubeflow.org/objective`, such as `minimize loss`. */
export function readObjective(text: string): ReadAnnotation<Objective> {
  const { direction, metric = "" } = OBJECTIVE.exec(text)?.groups ?? {};
  if (direction === "minimize" || direction === "maximize") {
    return { ok: true, value: { metric, direction } };
  }
  const message = "must be minimize or maximize, a space and the name of a metric, such as " +
    '"minimize loss"';
  return { ok: false, problems: [{ field: "", message }] };
}
