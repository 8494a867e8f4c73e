/** Jobs of the v1 kinds and their pods, for tests. */
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import type { V1Job } from "../../../crds/v1/job.ts";
import { V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { runOf } from "../../../controller/jobs/defaults.ts";
import { podOf } from "../../../controller/jobs/replica_pod.ts";
import { KIND_RULES } from "../../../controller/jobs/rules_by_kind.ts";
import { type Replica, replicasOf, type Run } from "../../../controller/jobs/run.ts";

/** A replica type: how many, and what else its spec has. */
export type TypeSketch = number | { readonly replicas?: number; readonly restartPolicy?: string };

/** Returns a job `j` in the namespace `ns`; `more` goes into its spec. */
export function v1Job(
  kind: V1KindName,
  types: Readonly<Record<string, TypeSketch>>,
  more: Readonly<Record<string, unknown>> = {},
): V1Job {
  const { specsKey, container } = V1_KINDS[kind];
  const specs = Object.entries(types).map(([type, sketch]) => [type, {
    ...(typeof sketch === "number" ? { replicas: sketch } : sketch),
    template: { spec: { containers: [{ name: container, image: "i" }] } },
  }]);
  return {
    apiVersion: "kubeflow.org/v1",
    kind,
    metadata: { name: "j", namespace: "ns", uid: "u-1" },
    spec: { runPolicy: { suspend: false }, ...more, [specsKey]: Object.fromEntries(specs) },
  };
}

/** Returns its run. */
export function v1Run(...[kind, types, more]: Parameters<typeof v1Job>): Run {
  return runOf(V1_KINDS[kind], v1Job(kind, types, more));
}

/** Returns a replica of a run. Throws if the run has no such type. */
export function replicaOf(run: Run, type: string, index = 0): Replica {
  const of = replicasOf(run, type);
  if (of === undefined) throw new Error(`the job has no ${type}`);
  return { of, index };
}

/** How a pod is: its phase, then its exit code, if it has one, and `terminating`. */
export type PodState = readonly [
  phase: string,
  exitCode?: number,
  more?: "terminating" | "evicted",
];

/** Returns the pod of a replica in a state. */
export function podIn(
  run: Run,
  type: string,
  index: number,
  [phase, exitCode, more]: PodState,
): Pod {
  const pod = podOf(run, KIND_RULES[run.kind.kind], replicaOf(run, type, index));
  const ended = exitCode === undefined ? {} : { state: { terminated: { exitCode } } };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(more === "terminating" && { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    },
    status: {
      phase,
      ...(more === "evicted" && { reason: "Evicted" }),
      containerStatuses: [{
        name: run.kind.container,
        image: "i",
        imageID: "",
        ready: phase === "Running",
        restartCount: 0,
        ...ended,
      }],
    },
  };
}

/** The pods of a job: for each type the states by index; undefined is a pod that is not there. */
export type PodStates = Readonly<Record<string, readonly (PodState | undefined)[]>>;

/** Returns the pods. */
export function podsIn(run: Run, states: PodStates): Pod[] {
  return Object.entries(states).flatMap(([type, all]) =>
    all.flatMap((state, index) => state === undefined ? [] : [podIn(run, type, index, state)])
  );
}
