/** Readings: lengths of time and values of metrics as short texts. Pure. */
import type { JobRow } from "../crds/wire/row.ts";
import { humanDuration } from "../platform/base/human_duration.ts";
import { stoppingText } from "../platform/base/stopping_text.ts";
import { shortNumber, shortValue } from "../platform/base/short_number.ts";
import { safeText } from "./shown_text.ts";

/** Returns a length of time as kubectl writes ages, such as `85s`, `5m3s`, `94m`, `3h5m`, `30h` or `2d3h`; `-` if there is none. */
export function durationText(seconds: number): string {
  return Number.isFinite(seconds) ? humanDuration(1000 * Math.max(0, seconds)) : "-";
}

/** Returns the text of a value that was pushed: a number in short, anything else as it is. */
export const valueText = (value: string): string => shortValue(value, shortNumber, safeText);

/** Returns how long ago a time of an object is; `-` if there is none. */
export function ageOf(time: string | undefined, nowMs: number): string {
  return durationText((nowMs - Date.parse(time ?? "")) / 1000);
}

/** Returns the time that a job that runs has left, if its pods say so. */
export const leftText = ({ remainingSeconds }: JobRow): string | undefined =>
  remainingSeconds === undefined ? undefined : durationText(remainingSeconds);

/** Returns what happens to a job that runs: it is being stopped, or fails and is started again. */
export function changeText(
  { restarts, restartLimit, stopsBy }: JobRow,
  nowMs: number,
): string | undefined {
  if (stopsBy !== undefined) return stoppingText(Date.parse(stopsBy), nowMs, durationText);
  if (restarts === undefined) return undefined;
  const limit = restartLimit === undefined ? "" : `, fails after at most ${restartLimit}`;
  return `restarting (${restarts}×${limit})`;
}

/** Returns why a job is as it is, as others wrote it, of one that has failed, restarts or has not begun to run. */
export const toldMessage = ({ state, restarts, message }: JobRow): string | undefined =>
  ["Failed", "Created"].includes(state) || restarts !== undefined ? message : undefined;
