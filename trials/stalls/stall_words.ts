/** Words of a stall: since when the job makes no progress, what is usual, and what its pods said last. Pure. */
import { type JobStall, STALL_LIMITS } from "../../crds/job_stall.ts";
import { humanDuration } from "../../platform/base/human_duration.ts";
import { compact } from "../../platform/base/json.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { phaseOf, type Watch } from "./watch.ts";

/** A pod that reports for the job. */
export interface ReportingPod {
  readonly name: string;
  readonly step: number | undefined;
  /** Wall clock, in milliseconds since the epoch; undefined if this owner has not heard of it. */
  readonly heardMs: number | undefined;
}

/** What the job did when it was last heard of. */
const DOING = {
  Starting: "while it started",
  Training: "",
  Evaluating: "while it evaluated",
  Checkpointing: "while it saved a checkpoint",
} as const;

/** How long it usually takes, in words; below a second it is no news. */
function usualText(seconds: number | undefined): string {
  if (seconds === undefined) return "";
  return seconds < 1 ? "usually less than 1s" : `usually ${humanDuration(seconds * 1000)}`;
}

/** Returns the stall of a job that is silent since `sinceMs`, on the wall clock. */
export function stallOfWatch(
  watch: Watch,
  pods: readonly ReportingPod[],
  sinceMs: number,
): JobStall {
  const { last, pace, heardMs } = watch;
  const phase = phaseOf(watch);
  const since = rfc3339(sinceMs);
  const { step } = last ?? {};
  const during = phase === undefined ? "" : DOING[phase];
  const what = step === undefined ? "no report" : `no step after ${step}`;
  const facts = [
    `${[what, during].filter(Boolean).join(" ")} since ${since}`,
    usualText(pace?.intervalSeconds),
    heardMs > watch.sinceMs ? "it still reports, and makes no step" : "",
  ].filter(Boolean);
  return compact({
    since,
    intervalSeconds: pace?.intervalSeconds,
    pods: pods.slice(0, STALL_LIMITS.pods).map(({ name, step, heardMs }) =>
      compact({ name, step, lastHeard: heardMs === undefined ? undefined : rfc3339(heardMs) })
    ),
    message: facts.join("; "),
  });
}
