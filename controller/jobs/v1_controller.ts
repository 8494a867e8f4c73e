/** Controller of the jobs of one v1 kind: its sources and its loop. */
import type { V1Job } from "../../crds/v1/job.ts";
import { V1_GROUP, V1_LABELS } from "../../crds/v1/names.ts";
import {
  type Controller,
  type ControllerMetrics,
  createController,
} from "../../platform/kube/controller.ts";
import type { Cache } from "../../platform/kube/watching/informer.ts";
import { controllerKey, controllerOf } from "../../platform/kube/owner_references.ts";
import { createOwnWrites } from "../../platform/kit/own_writes.ts";
import { formatKey, keyOf, type KubeObject } from "../../platform/kube/resource.ts";
import { type Observer, type Source, watch, watchSignal } from "../../platform/kube/sources.ts";
import { isProgressOnly } from "../progress_change.ts";
import { hasEnded } from "./condition_list.ts";
import { createJobFailures } from "./job_failures.ts";
import { createReconciler, type ReconcilerOptions } from "./reconcile.ts";
import { objectsOfJobs } from "./replica_objects.ts";

/** Creates the controller of one kind. The caller runs the caches; those of pods and Services need `replicaIndexes`. */
export function createV1Controller(
  options: Omit<ReconcilerOptions, "failures" | "objects" | "jobWrites"> & {
    /** Jobs reconciled concurrently. Default 4. */
    readonly workers?: number;
    readonly controllerMetrics?: ControllerMetrics;
    /** Calls the listener after each change of the CAs. Returns a function that ends this. */
    readonly onCaChange?: ((listener: () => void) => (() => void) | void) | undefined;
  },
): Controller {
  const { kind, caches, clock, workers = 4, controllerMetrics, onCaChange } = options;
  const objects = objectsOfJobs(caches, clock);
  const jobWrites = createOwnWrites<V1Job>({ clock, groupOf: keyOf });
  const failures = createJobFailures(kind);

  /** The keys of the jobs that an object concerns: of its controller, or by the labels of an orphan. */
  function keysOf({ metadata }: KubeObject): string[] {
    const owner = controllerKey({ metadata: metadata ?? {} }, { group: V1_GROUP, kind: kind.kind });
    if (owner !== undefined) return [owner];
    const name = metadata?.labels?.[V1_LABELS.jobName];
    if (controllerOf(metadata) !== undefined || name === undefined) return [];
    return [formatKey({ namespace: metadata?.namespace, name })];
  }

  const watchObjects = <T extends KubeObject>(cache: Cache<T>, writes: Observer<T>): Source =>
    watch(cache, ({ object }) => keysOf(object).filter((key) => caches.jobs.get(key)), writes);

  const unfinished = () =>
    caches.jobs.list().filter(({ status }) => !hasEnded(status?.conditions)).map(keyOf);

  const sources = [
    watch(
      caches.jobs,
      (change) => isProgressOnly(change) ? [] : [keyOf(change.object)],
      jobWrites,
    ),
    watchObjects(caches.pods, {
      seen(change) {
        objects.pods.writes.seen(change);
        failures.seen(change);
      },
    }),
    watchObjects(caches.services, objects.services.writes),
    ...(onCaChange === undefined ? [] : [watchSignal(onCaChange, unfinished)]),
  ];
  return createController({
    name: kind.singular,
    reconcile: createReconciler({ ...options, failures, objects, jobWrites }),
    sources,
    workers,
    clock,
    ...(controllerMetrics && { metrics: controllerMetrics }),
  });
}
