/** Job controller of the embedded cluster: batch/v1 Jobs become pods. */
import { type Clock, systemClock } from "../../platform/base/clock.ts";
import {
  type Controller,
  type ControllerMetrics,
  createController,
} from "../../platform/kube/controller.ts";
import { createJobReconciler, type ReconcilerOptions } from "./job_reconciler.ts";

/** Options of {@link createJobController}. */
export interface JobControllerOptions extends Omit<ReconcilerOptions, "clock" | "random"> {
  readonly clock?: Clock;
  /** Numbers from 0 up to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Jobs that are worked on at a time. Default 4. */
  readonly workers?: number;
  readonly metrics?: ControllerMetrics;
}

/**
 * A controller of all Jobs that no other one manages. Its caller runs the caches; the informer of pods
 * needs `jobPodIndexes`.
 */
export function createJobController(options: JobControllerOptions): Controller {
  const { clock = systemClock, random = Math.random, workers = 4, metrics } = options;
  const { reconcile, sources } = createJobReconciler({ ...options, clock, random });
  return createController({ name: "job", reconcile, sources, workers, clock, random, metrics });
}
