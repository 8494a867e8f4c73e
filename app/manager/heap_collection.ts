/** Garbage collection after the caches are filled. */
import { collectGarbage } from "../../platform/http/garbage.ts";

/** With fewer TrainJobs a collection gains little. */
const WORTHWHILE_JOBS = 1000;

/**
 * Collects garbage once and returns memory to the system: the pages of lists are garbage when the caches are
 * filled, and V8 would keep their memory. It takes a quarter of a second with 10,000 jobs, so call it when
 * no request waits. Does nothing with few jobs.
 */
export function collectAfterFilling(trainJobs: number): void {
  if (trainJobs >= WORTHWHILE_JOBS) collectGarbage({ type: "major", flavor: "last-resort" });
}
