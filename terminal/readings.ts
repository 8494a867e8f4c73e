/** Readings: lengths of time and values of metrics as short texts. Pure. */
import type { JobRow } from "../crds/wire/row.ts";
import type { Parameter } from "../crds/wire/searches.ts";
import { humanDuration } from "../platform/base/human_duration.ts";
import { jobChangeText } from "../platform/base/job_change_text.ts";
import { cutText } from "../platform/base/hostile_text.ts";
import { shortNumber, shortValue } from "../platform/base/short_number.ts";
import { safeText } from "./shown_text.ts";

/** Returns a length of time as kubectl writes ages, such as `85s`, `5m3s`, `94m`, `3h5m`, `30h` or `2d3h`; `-` if there is none. */
export function durationText(seconds: number): string {
  return Number.isFinite(seconds) ? humanDuration(1000 * Math.max(0, seconds)) : "-";
}

/** Returns the text of a value that was pushed: a number in short, anything else as it is. */
export const valueText = (value: string): string => shortValue(value, shortNumber, safeText);

/** Characters of a choice: the most that one of an OptimizationJob has. */
const LONGEST_CHOICE = 64;

/** Returns the text of a parameter's value: a choice is a text, also if it can be read as a number. */
export const parameterText = ({ scale }: Pick<Parameter, "scale">, value: string): string =>
  scale === "list" ? safeText(cutText(value, LONGEST_CHOICE)) : valueText(value);

/** Returns how long ago a time of an object is; `-` if there is none. */
export function ageOf(time: string | undefined, nowMs: number): string {
  return durationText((nowMs - Date.parse(time ?? "")) / 1000);
}

/** Returns the time that a job that runs has left, if its pods say so. */
export const leftText = ({ remainingSeconds }: JobRow): string | undefined =>
  remainingSeconds === undefined ? undefined : durationText(remainingSeconds);

const timeOf = (time: string | undefined) => time === undefined ? undefined : Date.parse(time);

/** Returns what happens to a job that runs: it is being stopped, fails and is started again, or makes no progress. */
export function changeText(
  { stopsBy, stalledSince, restartingSince, ...row }: JobRow,
  nowMs: number,
): string | undefined {
  const times = {
    stopsByMs: timeOf(stopsBy),
    restartingSinceMs: timeOf(restartingSince),
    stalledSinceMs: timeOf(stalledSince),
  };
  return jobChangeText({ ...row, ...times }, nowMs, durationText);
}

/** Returns why a job is as it is, as others wrote it, of one that has failed, restarts, is restarted, is stalled or has not begun to run. */
export const toldMessage = (row: JobRow): string | undefined => {
  const { state, restarts, restartingSince, stalledSince, message } = row;
  const isTold = ["Failed", "Created"].includes(state) || restarts !== undefined;
  return isTold || (restartingSince ?? stalledSince) !== undefined ? message : undefined;
};
