/** Words of a stall: since when the job makes no progress, what is usual, and which of its pods stand out. Pure. */
import type { JobCheckpoint } from "../../crds/job_restart.ts";
import { type JobStall, STALL_LIMITS } from "../../crds/job_stall.ts";
import { cutText } from "../../platform/base/hostile_text.ts";
import { humanDuration } from "../../platform/base/human_duration.ts";
import { compact } from "../../platform/base/json.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { type HeardPod, suspectsOf } from "./suspects.ts";
import { phaseOf, type Watch } from "./silence_watch.ts";

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

/** The last step that anybody has reported. */
function lastStep({ last }: Watch, pods: readonly HeardPod[]): number | undefined {
  const steps = pods.flatMap(({ ranks }) => ranks.map(({ step }) => step));
  return steps.length === 0 ? last?.step : Math.max(last?.step ?? 0, ...steps);
}

/** What a stall says beside: why nothing is done, and the newest checkpoint. */
export interface BesideStall {
  readonly note?: string | undefined;
  readonly checkpoint?: JobCheckpoint | undefined;
}

/** Returns the stall of a job that is silent since `sinceMs`, on the wall clock; `note` says what is not done. */
export function stallOfWatch(
  watch: Watch,
  pods: readonly HeardPod[],
  sinceMs: number,
  { note = "", checkpoint }: BesideStall = {},
): JobStall {
  const { pace, heardMs } = watch;
  const phase = phaseOf(watch);
  const since = rfc3339(sinceMs);
  const step = lastStep(watch, pods);
  const during = phase === undefined ? "" : DOING[phase];
  const what = step === undefined ? "no report" : `no step after ${step}`;
  const suspects = suspectsOf(pods);
  const isHeard = heardMs > watch.sinceMs && suspects.words === "";
  const facts = [
    `${[what, during].filter(Boolean).join(" ")} since ${since}`,
    usualText(pace?.intervalSeconds),
    suspects.words,
    isHeard ? "it still reports, and makes no step" : "",
    checkpoint === undefined ? "" : `its newest checkpoint is of step ${checkpoint.step}`,
    note,
  ].filter(Boolean);
  return compact({
    since,
    intervalSeconds: pace?.intervalSeconds,
    pods: suspects.pods.length > 0 ? suspects.pods : undefined,
    checkpoint,
    message: cutText(facts.join("; "), STALL_LIMITS.messageLength),
  });
}
