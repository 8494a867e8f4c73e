/** Storm of silence in one term: as long as many jobs are silent together, none of them is called stalled (docs/decisions/0081). */
import { getLogger } from "@logtape/logtape";
import { excused } from "../../trials/stalls/silence_watch.ts";
import { isOfStorm, stormAfter, stormOf } from "../../trials/stalls/storm.ts";
import type { WatchedRun } from "./watched_run.ts";

const log = getLogger(["milepost", "manager"]);

/** Creates the storm, which is not on. */
export function createSilenceStorm({ runs, isJudged }: {
  readonly runs: () => Iterable<WatchedRun>;
  /** Whether a run is expected to make progress, and is not called stalled. */
  readonly isJudged: (run: WatchedRun) => boolean;
}) {
  let storm: { readonly beganMs: number; readonly jobs: readonly WatchedRun[] } | undefined;

  /**
   * Returns those of the candidates whose silence is their own. That of a storm teaches nothing, and begins anew once the
   * storm is over.
   */
  function without(candidates: readonly WatchedRun[], nowMs: number): readonly WatchedRun[] {
    if (candidates.length === 0 && storm === undefined) return candidates;
    const open = [...runs()].filter(isJudged);
    if (storm === undefined) {
      const silentMs = Math.min(...candidates.map(({ watch }) => nowMs - watch.sinceMs));
      const together = stormOf(open, silentMs, nowMs);
      if (together.length === 0) return candidates;
      storm = { beganMs: nowMs, jobs: together };
      const counts = { silent: together.length, watched: open.length };
      log.warn(
        "many jobs fell silent together: they are not called stalled before they are heard",
        counts,
      );
    }
    const { beganMs } = storm;
    const known = new Set(open);
    const state = stormAfter(storm.jobs.filter((it) => known.has(it)), beganMs, nowMs);
    if (state === "long") {
      storm = undefined;
      return candidates;
    }
    const touched = open.filter(({ watch }) => isOfStorm(watch, beganMs));
    const own = candidates.filter(({ watch }) => !isOfStorm(watch, beganMs));
    if (state === "on") touched.forEach((it) => it.watch = { ...it.watch, isWhole: false });
    else {
      storm = undefined;
      log.info("jobs are heard again");
      touched.forEach((it) => it.watch = excused(it.watch, nowMs));
    }
    return own;
  }

  return { isOn: () => storm !== undefined, without };
}
