/** Curves of the jobs on the screen, followed while they are there. */
import type { JobRef } from "../crds/job_kind.ts";
import { isMetric, type ShownCurves } from "../crds/wire/shown_curves.ts";
import { CURVE_LIMITS } from "../crds/wire/view_limits.ts";
import { type HeldCurves, shownCurves } from "../owner/curves/held_curves.ts";
import type { Known } from "../owner/followed_group.ts";
import type { Points } from "./plots.ts";
import type { TerminalCluster } from "./terminal_cluster.ts";

interface WatchedJob {
  known: Known<HeldCurves>;
  stop: () => void;
}

/** Creates them; `onNews` is called when there is news of a job. */
export function createWatchedCurves(
  { follow }: Pick<TerminalCluster, "follow">,
  onNews: () => void,
) {
  const watched = new Map<string, WatchedJob>();

  function begin(job: JobRef): void {
    const one: WatchedJob = { known: {}, stop() {} };
    watched.set(job.uid, one);
    one.stop = follow(job, (known) => {
      one.known = known;
      onNews();
    });
  }

  function of(uid: string): ShownCurves | undefined {
    const { value } = watched.get(uid)?.known ?? {};
    return value && shownCurves(value, { points: CURVE_LIMITS.points });
  }

  return {
    of,
    /** Returns the last values of a metric of a job. */
    pointsOf(uid: string, metric: string): Points {
      const curve = of(uid)?.metrics.find((it) => it.name === metric && isMetric(it));
      return curve?.points.map(([time, , , last]) => [time, last]) ?? [];
    },
    /** Why there is no news of them, if so. */
    outage: (): string | undefined =>
      watched.values().map(({ known }) => known.outage?.reason).find((it) => it !== undefined),
    /** Follows those of these jobs, and no others. */
    look(jobs: readonly JobRef[]): void {
      const seen = jobs.slice(0, CURVE_LIMITS.jobs);
      const uids = new Set(seen.map(({ uid }) => uid));
      for (const [uid, { stop }] of watched) {
        if (uids.has(uid)) continue;
        stop();
        watched.delete(uid);
      }
      for (const job of seen) if (!watched.has(job.uid)) begin(job);
    },
  };
}
