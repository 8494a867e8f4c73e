/** Curves of the jobs on the screen, asked for again and again. */
import type { JobRef } from "../crds/job_kind.ts";
import type { ShownCurves } from "../crds/wire/shown_curves.ts";
import { messageOf } from "../platform/kube/errors.ts";
import { CURVE_LIMITS } from "../crds/wire/view_limits.ts";
import type { Points } from "./plots.ts";
import type { TerminalCluster } from "./terminal_cluster.ts";

/** The curves. */
export interface WatchedCurves {
  /** Asks for those of these jobs; what is held of others goes. */
  look(jobs: readonly JobRef[], signal: AbortSignal): Promise<void>;
  of(uid: string): ShownCurves | undefined;
  /** Returns the last values of a metric of a job. */
  pointsOf(uid: string, metric: string): Points;
  /** Why there are none, if so. */
  outage(): string | undefined;
}

/** Creates them. */
export function createWatchedCurves(
  { ask }: Pick<TerminalCluster, "ask">,
  points: number = CURVE_LIMITS.points,
): WatchedCurves {
  let held = new Map<string, ShownCurves>();
  let outage: string | undefined;
  return {
    of: (uid) => held.get(uid),
    pointsOf(uid, metric) {
      const curve = held.get(uid)?.metrics.find((it) => it.name === metric && !it.isProgress);
      return curve?.points.map(([time, , , last]) => [time, last]) ?? [];
    },
    outage: () => outage,
    async look(jobs, signal) {
      const asked = jobs.slice(0, CURVE_LIMITS.jobs);
      const kept = new Map(
        asked.flatMap(({ uid }) => {
          const known = held.get(uid);
          return known === undefined ? [] : [[uid, known] as const];
        }),
      );
      held = kept;
      if (asked.length === 0) return;
      const withCursors = asked.map(({ uid }) => {
        const cursor = kept.get(uid)?.cursor;
        return { uid, ...(cursor !== undefined && { cursor }) };
      });
      const answer = await Promise.resolve(ask({ jobs: withCursors, points }, signal, asked))
        .catch((error) => ({ reason: messageOf(error) }));
      outage = "curves" in answer ? undefined : answer.reason;
      if ("curves" in answer) { for (const it of answer.curves) kept.set(it.uid, it); }
    },
  };
}
