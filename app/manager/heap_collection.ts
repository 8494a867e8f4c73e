/** Collects what filling the caches has left behind, where the runtime lets a program ask for that. */

/** With fewer TrainJobs there is little to gain. */
const WORTHWHILE_JOBS = 1000;

/**
 * Collects once and gives memory back: pages of lists are garbage when the caches are filled, and V8 would
 * keep the room that they took. Takes a quarter of a second with 10,000 jobs, so it is for a moment when
 * nobody waits. Does nothing with few jobs, or where V8 was not started with `--expose-gc`, as the executable is.
 */
export function collectAfterFilling(trainJobs: number): void {
  const collect: unknown = Reflect.get(globalThis, "gc");
  if (trainJobs < WORTHWHILE_JOBS || typeof collect !== "function") return;
  Reflect.apply(collect, undefined, [{ type: "major", flavor: "last-resort" }]);
}
