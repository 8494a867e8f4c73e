/** Controller of the built-in JobSet executor: its sources and its loop. */
import { systemClock } from "../../platform/base/clock.ts";
import type { Clock } from "../../platform/base/clock.ts";
import {
  type Controller,
  type ControllerMetrics,
  createController,
} from "../../platform/kube/controller.ts";
import { createJobSetReconciler, type ReconcilerOptions } from "./reconciler.ts";

/** Options of {@link createJobSetController}. */
export interface JobSetControllerOptions extends Omit<ReconcilerOptions, "clock"> {
  readonly clock?: Clock;
  /** JobSets reconciled concurrently. Default 4. */
  readonly workers?: number;
  readonly metrics?: ControllerMetrics;
}

/**
 * Creates the controller of the JobSets whose `spec.managedBy` names Milepost: they become Jobs and
 * headless Services. The caller runs the caches; the informer of Jobs needs `jobSetJobIndexes`.
 */
export function createJobSetController(options: JobSetControllerOptions): Controller {
  const { clock = systemClock, workers = 4, metrics } = options;
  const { reconcile, sources } = createJobSetReconciler({ ...options, clock });
  return createController({ name: "jobset", reconcile, sources, workers, clock, metrics });
}
