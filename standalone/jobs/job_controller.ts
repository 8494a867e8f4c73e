/** Job controller of the embedded cluster: batch/v1 Jobs become pods. */
import { type Clock, systemClock } from "../../platform/base/clock.ts";
import { type Controller, createController } from "../../platform/kube/controller.ts";
import { createJobReconciler, type ReconcilerOptions } from "./job_reconciler.ts";

/** Jobs that are worked on at a time. */
const WORKERS = 4;

/** Options of {@link createJobController}. */
export interface JobControllerOptions extends Omit<ReconcilerOptions, "clock" | "random"> {
  readonly clock?: Clock;
  /** Numbers from 0 up to 1. Default `Math.random`. */
  readonly random?: () => number;
}

/**
 * A controller of all Jobs that no other one manages. Its caller runs the caches; the informer of pods
 * needs `jobPodIndexes`.
 */
export function createJobController(options: JobControllerOptions): Controller {
  const { clock = systemClock, random = Math.random } = options;
  const { reconcile, sources } = createJobReconciler({ ...options, clock, random });
  return createController({ name: "job", reconcile, sources, workers: WORKERS, clock, random });
}
