/** Waits of trials that have been made and do not run, in words. Pure. */
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { endTimeOf, obstacleOf, shownStateOf, suspensionOf } from "../../crds/job_state.ts";
import { TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { TrialRecord } from "../../crds/trial_records.ts";
import { cutText } from "../../platform/base/hostile_text.ts";
import { soonest } from "../../platform/base/soonest.ts";
import { findCondition } from "../../platform/kube/conditions.ts";
import { LONG_WAIT_MS } from "../trainjob/pod_waits.ts";

/** Names, and causes, that are told. */
const NAMES_MAX = 3;
const CAUSES_MAX = 5;
const CAUSE_LENGTH = 300;

/** A trial that has not ended, and its TrainJob. */
export interface OpenTrial {
  readonly record: TrialRecord;
  readonly job: TrainJob;
  /** Why the log of one that is complete cannot be read. */
  readonly unread?: string;
}

const SUSPENDED = "suspended until resumed, such as by Kueue once a quota admits it";
const UNREAD = "it is complete, and its log cannot be read";
/** After the end of a job its log may be unread for a moment, such as under a new leader. */
const UNREAD_MS = 30_000;
const NOT_STARTED = "no pod of it runs yet: its events say why";

/** Returns what a TrainJob waits for by its conditions. */
function causeOf(job: TrainJob): string | undefined {
  if (suspensionOf(TRAINJOB, job) !== undefined) return SUSPENDED;
  const resources = findCondition(job.status?.conditions, TRAINJOB_CONDITIONS.resourcesCreated);
  return resources?.status === "False" ? resources.message : obstacleOf(TRAINJOB, job)?.message;
}

/** Returns when a TrainJob that says nothing waits for long: it has not begun, or its log cannot be read; undefined if it runs. */
function longWaitMs({ record, job, unread }: OpenTrial): number | undefined {
  if (unread !== undefined) return Date.parse(endTimeOf(TRAINJOB, job) ?? "") + UNREAD_MS;
  return shownStateOf(TRAINJOB, job) === "Created"
    ? Date.parse(record.created) + LONG_WAIT_MS
    : undefined;
}

function sentence(cause: string, names: readonly string[]): string {
  const more = names.length - NAMES_MAX;
  const shown = [...names.slice(0, NAMES_MAX), ...(more > 0 ? [`${more} more`] : [])].join(", ");
  return `${shown} ${names.length === 1 ? "waits" : "wait"}: ${cutText(cause, CAUSE_LENGTH)}`;
}

/** Returns which trials wait for what, and the time until there is one that waits for long. */
export function trialWaits(open: readonly OpenTrial[], nowMs: number) {
  const byCause = new Map<string, string[]>();
  const due: (number | undefined)[] = [];
  for (const trial of open) {
    const since = longWaitMs(trial);
    const isLong = since !== undefined && since <= nowMs;
    const silent = trial.unread === undefined ? NOT_STARTED : `${UNREAD}: ${trial.unread}`;
    const cause = causeOf(trial.job) ?? (isLong ? silent : undefined);
    if (cause !== undefined) {
      byCause.set(cause, [...byCause.get(cause) ?? [], trial.record.name]);
    } else if (since !== undefined) due.push(since - nowMs);
  }
  const waits = [...byCause].slice(0, CAUSES_MAX).map(([cause, names]) => sentence(cause, names));
  return { waits, requeueAfterMs: soonest(due) };
}
