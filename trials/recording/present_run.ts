/** Present run of a log, to which rows without a run of their own belong from its start on. Pure. */
import { sortableTime } from "./row_time.ts";

/** The run of the primary pod that started last (docs/decisions/0042). */
export interface PresentRun {
  /** UID of the pod. */
  readonly run: string;
  /** Its start, as `sortableTime` formats it. Rows with an earlier time belong to earlier runs. */
  readonly since: string;
}

/** Rows belong to no run, since no primary pod is known. */
export const NO_RUN: PresentRun = { run: "", since: "~" };
/** All rows belong to one run, since the starts of pods are not known. */
export const ONE_RUN: PresentRun = { run: "", since: "" };

/** Returns the run of a row, or undefined if it belongs to an earlier run that nothing is known of. */
export function runOf(
  { time, run }: { readonly time: string; readonly run?: string | undefined },
  present: PresentRun,
): string | undefined {
  if (run !== undefined) return run;
  return (sortableTime(time) ?? "") >= present.since ? present.run : undefined;
}

/** Whether two runs are the same, with the same start. */
export function isSameRun(one: PresentRun, other: PresentRun): boolean {
  return one.run === other.run && one.since === other.since;
}

/** Returns the later run: one that is over stays the present one until a later pod starts. */
export function laterRun(known: PresentRun | undefined, found: PresentRun): PresentRun {
  if (known === undefined || known.run === "") return found;
  const isLater = found.run !== "" && found.since >= known.since;
  return isLater ? found : known;
}
