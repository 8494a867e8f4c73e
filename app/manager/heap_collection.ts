/** Garbage collection on request, after the caches are filled. */

/** With fewer TrainJobs a collection gains little. */
const WORTHWHILE_JOBS = 1000;

/**
 * Collects garbage once and returns memory to the system: the pages of lists are garbage when the caches are
 * filled, and V8 would keep their memory. It takes a quarter of a second with 10,000 jobs, so call it when
 * no request waits. Does nothing with few jobs, or if V8 was not started with `--expose-gc`, as the
 * executable is.
 */
export function collectAfterFilling(trainJobs: number): void {
  const collect: unknown = Reflect.get(globalThis, "gc");
  if (trainJobs < WORTHWHILE_JOBS || typeof collect !== "function") return;
  Reflect.apply(collect, undefined, [{ type: "major", flavor: "last-resort" }]);
}
