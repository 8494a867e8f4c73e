/** The Job controller of the embedded cluster: batch/v1 Jobs become pods. */
import { type Clock, systemClock } from "../../kube/clock.ts";
import {
  type Controller,
  type ControllerMetrics,
  createController,
} from "../../kube/controller.ts";
import { createJobReconciler, type ReconcilerOptions } from "./reconciler.ts";

export type { Cache } from "./reconciler.ts";
export { jobPodIndexes, PODS_BY_JOB } from "./reconciler.ts";
export type { PodBackoff } from "./policy/backoff.ts";

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
 * A controller of all Jobs that no other one manages. It begins when the caches, which its caller
 * runs, are synced; the informer of pods needs `jobPodIndexes`.
 */
export function createJobController(options: JobControllerOptions): Controller {
  const { informers, clock = systemClock, random = Math.random, workers = 4, metrics } = options;
  const reconciler = createJobReconciler({ ...options, clock, random });
  const controller = createController({
    name: "job",
    reconcile: reconciler.reconcile,
    workers,
    clock,
    random,
    metrics,
  });
  return {
    enqueue: (key) => controller.enqueue(key),
    enqueueAfter: (key, ms) => controller.enqueueAfter(key, ms),
    async run(signal) {
      const disconnect = reconciler.connect((key) => controller.enqueue(key));
      try {
        const synced = await Promise.all([
          informers.jobs.whenSynced(signal),
          informers.pods.whenSynced(signal),
        ]);
        if (synced.every(Boolean)) await controller.run(signal);
      } finally {
        disconnect();
      }
    },
  };
}
