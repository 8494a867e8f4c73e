/** Lines about jobs for a pipe or a log: no bars, nothing drawn over. Pure. */
import type { JobRow } from "../crds/wire/row.ts";
import { changeText, leftText, toldMessage, valueText } from "./readings.ts";
import { safeText } from "./shown_text.ts";

/** Returns a job as a line without a bar. */
export function plainLine(row: JobRow, nowMs: number): string {
  const { namespace, name, state, progress, metrics = [] } = row;
  const left = leftText(row);
  return [
    safeText(`${namespace}/${name}`),
    state,
    progress === undefined ? "" : `${progress} %`,
    left === undefined ? "" : `${left} left`,
    changeText(row, nowMs) ?? "",
    ...metrics.map(({ name, value }) => `${safeText(name)} ${valueText(value)}`),
    safeText(toldMessage(row) ?? ""),
  ].filter((it) => it !== "").join("  ");
}

/** Returns what a job is told anew for: its state, each further tenth of its progress, each restart, and a stop, a restart or a stall that begins. */
export const plainStep = (row: JobRow): string => {
  const { state, progress = -1, restarts = 0, stopsBy = "", stalledSince = "" } = row;
  const { restartingSince = "" } = row;
  return `${state} ${
    Math.floor(progress / 10)
  } ${restarts} ${stopsBy} ${stalledSince} ${restartingSince}`;
};
