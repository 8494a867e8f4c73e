/** An observation as clients see it. Pure. */
import type { Position } from "../../crds/wire/observation.ts";
import type { ObservationSeen } from "../../owner/observations/observation_asks.ts";
import type { JobState } from "./observation_state.ts";
import type { Observation } from "./messages.ts";
import { positionText } from "./position.ts";

/** Puts together how the job stands and what the owner knows. `next`: where to read on, if anywhere. */
export function observationOf(
  state: JobState,
  { trial, primaryPod, metrics, rows }: ObservationSeen,
  next: Position | undefined,
): Observation {
  return {
    ...state,
    ...(trial === undefined ? {} : { trial }),
    ...(primaryPod === undefined ? {} : { primaryPod }),
    metrics,
    log: rows,
    ...(next === undefined ? {} : { continue: positionText(next) }),
  };
}
