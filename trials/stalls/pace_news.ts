/** News of a pace: whether what was learned since it was written would change a verdict. Pure. */
import type { JobPace } from "../../crds/job_stall.ts";
import { limitsOfPace } from "./stall_verdict.ts";

/** Ratio from which on another limit is news. */
const OTHERWISE = 1.2;

/** Returns whether the next owner would judge otherwise by the newer one. */
export function isNewsOfPace(old: JobPace | undefined, next: JobPace): boolean {
  if (old === undefined || old.run !== next.run) return true;
  const before = limitsOfPace(old);
  return limitsOfPace(next).some((limitMs, at) => {
    const ratio = limitMs / (before[at] ?? limitMs);
    return ratio > OTHERWISE || ratio < 1 / OTHERWISE;
  });
}
