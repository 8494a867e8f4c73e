/** Controller of OptimizationJobs: its sources and its loop. */
import { KINDS } from "../../crds/kinds.ts";
import type { OptimizationJob } from "../../crds/optimization_job.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createOwnWrites } from "../../platform/kit/own_writes.ts";
import {
  type Controller,
  type ControllerMetrics,
  createController,
} from "../../platform/kube/controller.ts";
import { controllerKey } from "../../platform/kube/owner_references.ts";
import { keyOf } from "../../platform/kube/resource.ts";
import { watch } from "../../platform/kube/sources.ts";
import type { Cache } from "../../platform/kube/watching/informer.ts";
import { isProgressOnly } from "../progress_change.ts";
import { createSearchReconciler, type SearchReconcilerOptions } from "./reconcile.ts";

/** Options of {@link createOptimizationController}. */
export interface OptimizationControllerOptions
  extends Pick<SearchReconcilerOptions, "client" | "events" | "lastValue"> {
  readonly informers: {
    /** Empty where the kind is not served. */
    readonly optimizationJobs: Cache<OptimizationJob>;
    readonly trainJobs: Cache<TrainJob>;
  };
  readonly clock: Clock;
  /** OptimizationJobs reconciled concurrently. Default 4. */
  readonly workers?: number;
  readonly metrics?: ControllerMetrics;
}

/** The reconciler and its sources, for a controller to run. */
export function createOptimizationReconciler(options: OptimizationControllerOptions) {
  const { informers: { optimizationJobs, trainJobs }, clock } = options;
  const searchWrites = createOwnWrites<OptimizationJob>({ clock, groupOf: keyOf });
  return {
    reconcile: createSearchReconciler({
      ...options,
      searches: optimizationJobs,
      trainJobs,
      searchWrites,
    }),
    sources: [
      watch(optimizationJobs, ({ object }) => [keyOf(object)], searchWrites),
      watch(trainJobs, (change) => {
        const key = controllerKey(change.object, KINDS.optimizationJob);
        return key === undefined || isProgressOnly(change) ? [] : [key];
      }),
    ],
  };
}

/** Creates the controller that makes the trials of searches. The caller runs the informers. */
export function createOptimizationController(options: OptimizationControllerOptions): Controller {
  const { clock, workers = 4, metrics } = options;
  return createController({
    name: "optimizationjob",
    ...createOptimizationReconciler(options),
    workers,
    clock,
    ...(metrics && { metrics }),
  });
}
