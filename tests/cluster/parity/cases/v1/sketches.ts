/** Builders of v1 jobs, and of the steps of their lives. */
import { V1_KINDS, type V1KindName } from "../../../../../crds/v1/kinds.ts";
import { V1_API_VERSION } from "../../../../../crds/v1/names.ts";
import type { Target } from "../../answers.ts";
import type { Action, PodState, Step } from "../../case.ts";
import { type NamespaceView, V1_JOBS } from "../../cluster_view.ts";
import type { Manifest } from "../../manifest.ts";
import { container, create, type Fields, patch, remove } from "../../sketches.ts";

/** The replicas of a type: how many, or more of it. */
export interface ReplicaSketch {
  /** Default: the field is absent. */
  readonly replicas?: number;
  readonly restartPolicy?: string;
  readonly containers?: readonly Fields[];
  /** More of the pod's spec, and its metadata. */
  readonly pod?: Fields;
  readonly metadata?: Fields;
}

/** Options of a job. */
export interface JobSketch {
  readonly replicas: Readonly<Record<string, number | ReplicaSketch>>;
  /** Default: `suspend: false`, which the server stores in every run policy. */
  readonly runPolicy?: Fields;
  /** More of the spec, and of the metadata. */
  readonly more?: Fields;
  readonly metadata?: Fields;
}

function replicaSpec(name: string, sketch: number | ReplicaSketch): Fields {
  const { containers = [container(name)], pod, metadata, ...rest } = typeof sketch === "number"
    ? { replicas: sketch }
    : sketch;
  return {
    ...rest,
    template: { ...metadata === undefined ? {} : { metadata }, spec: { containers, ...pod } },
  };
}

/** A job `j` of a kind; what the kind asks for besides is there. */
export function job(kind: V1KindName, sketch: JobSketch): Manifest {
  const { specsKey, container: name } = V1_KINDS[kind];
  const { replicas, runPolicy = { suspend: false }, more, metadata } = sketch;
  const specs = Object.entries(replicas).map(([type, one]) => [type, replicaSpec(name, one)]);
  return {
    apiVersion: V1_API_VERSION,
    kind,
    metadata: { name: "j", ...metadata },
    spec: {
      ...kind === "MXJob" ? { jobMode: "MXTrain" } : {},
      runPolicy,
      [specsKey]: Object.fromEntries(specs),
      ...more,
    },
  };
}

/** The job `j` of a kind. */
export const jobOf = (kind: V1KindName): Target => ({
  apiVersion: V1_API_VERSION,
  kind,
  name: "j",
});
export const aPod = (name: string): Target => ({ apiVersion: "v1", kind: "Pod", name });
export const aService = (name: string): Target => ({ apiVersion: "v1", kind: "Service", name });

/** Puts pods of job `j` into a phase; each is named by its type and index, such as `worker-0`. */
export function pods(
  names: readonly string[],
  phase: PodState["phase"],
  more: Omit<PodState, "name" | "phase"> = {},
): Action[] {
  return names.map((name) => ({ does: "pod", state: { name: `j-${name}`, phase, ...more } }));
}

/** Whether job `j` has a condition of that type and status. */
export function is(type: string, status: "True" | "False" = "True") {
  return (view: NamespaceView): boolean =>
    V1_JOBS.some((plural) => {
      const conditions = view.get(plural, "j")?.status?.conditions;
      return Array.isArray(conditions) &&
        conditions.some((one) => one.type === type && one.status === status);
    });
}

/** Whether job `j` is gone. */
export const isGone = (view: NamespaceView): boolean =>
  V1_JOBS.every((plural) => view.get(plural, "j") === undefined);

/** Whether there are so many pods that are not being deleted. */
export const hasPods = (count: number) => (view: NamespaceView): boolean =>
  view.list("pods").filter(({ metadata }) => metadata.deletionTimestamp === undefined).length ===
    count;

/** One step. */
export const step = (actions: readonly Action[], until?: Step["until"]): Step => ({
  actions,
  ...until === undefined ? {} : { until },
});

/** A step that changes the spec of job `j`. */
export const change = (kind: V1KindName, spec: Fields, until?: Step["until"]): Step =>
  step([patch(jobOf(kind), { spec })], until);

/** A step that waits some seconds more, and then changes the job's annotations so that it is looked at. */
export const touched = (kind: V1KindName, until?: Step["until"]): Step =>
  step([patch(jobOf(kind), { metadata: { annotations: { touched: "yes" } } })], until);

/** The patch that changes the number of replicas of a type. */
export const scale = (kind: V1KindName, type: string, replicas: number): Fields => ({
  [V1_KINDS[kind].specsKey]: { [type]: { replicas } },
});

export { container, create, patch, remove };
