/** The built-in JobSet executor: JobSets of ours become Jobs and headless Services. */
import { systemClock } from "../../kube/clock.ts";
import type { Clock } from "../../kube/clock.ts";
import {
  type Controller,
  type ControllerMetrics,
  createController,
} from "../../kube/controller.ts";
import { createJobSetReconciler, type ReconcilerOptions } from "./reconciler.ts";

export type { Cache } from "./reconciler.ts";
export { jobSetJobIndexes } from "./reconciler.ts";
export { jobSetProblems } from "./problems.ts";

/** Options of {@link createJobSetController}. */
export interface JobSetControllerOptions extends Omit<ReconcilerOptions, "clock"> {
  readonly clock?: Clock;
  /** JobSets that are worked on at a time. Default 4. */
  readonly workers?: number;
  readonly metrics?: ControllerMetrics;
}

/**
 * A controller of the JobSets whose `spec.managedBy` is ours. It begins when the caches, which its
 * caller runs, are synced; the informer of Jobs needs `jobSetJobIndexes`.
 */
export function createJobSetController(options: JobSetControllerOptions): Controller {
  const { informers, clock = systemClock, workers = 4, metrics } = options;
  const reconciler = createJobSetReconciler({ ...options, clock });
  const controller = createController({
    name: "jobset",
    reconcile: reconciler.reconcile,
    workers,
    clock,
    metrics,
  });
  return {
    enqueue: (key) => controller.enqueue(key),
    enqueueAfter: (key, ms) => controller.enqueueAfter(key, ms),
    async run(signal) {
      const disconnect = reconciler.connect((key) => controller.enqueue(key));
      try {
        const { jobSets, jobs, services } = informers;
        const synced = await Promise.all([
          jobSets.whenSynced(signal),
          jobs.whenSynced(signal),
          services.whenSynced(signal),
        ]);
        if (synced.every(Boolean)) await controller.run(signal);
      } finally {
        disconnect();
      }
    },
  };
}
