/** Builders of the objects and steps of cases. */
import type { Target } from "./answers.ts";
import type { Action, PodFate, Step } from "./case.ts";
import type { NamespaceView } from "./cluster_view.ts";
import type { Manifest } from "./manifest.ts";

/** Any fields of an object. */
export type Fields = Readonly<Record<string, unknown>>;

const TRAINER = "trainer.kubeflow.org/v1alpha1";
const STEP = "trainer.kubeflow.org/trainjob-ancestor-step";
const JOBSET = "jobset.x-k8s.io/v1alpha2";

/** The TrainJob of most cases. */
export const TJ: Target = { apiVersion: TRAINER, kind: "TrainJob", name: "tj" };
/** The JobSet of that TrainJob, and of the cases about JobSets. */
export const JS: Target = { apiVersion: JOBSET, kind: "JobSet", name: "tj" };
/** The runtime of most cases. */
export const RT: Target = { apiVersion: TRAINER, kind: "TrainingRuntime", name: "rt" };

export const create = (object: Manifest): Action => ({ does: "create", object });
export const patch = (target: Target, body: unknown): Action => ({ does: "patch", target, body });
export const remove = (target: Target): Action => ({ does: "remove", target });
export const pods = (
  job: string,
  phase: PodFate["phase"],
  more: Omit<PodFate, "job" | "phase"> = {},
): Action => ({ does: "pods", fate: { job, phase, ...more } });

/** A container, its image and command as good as any. */
export function container(name: string, more: Fields = {}): Fields {
  return { name, image: "example.com/image:1", ...more };
}

/** Options of a replicated job. */
export interface JobSketch {
  readonly step?: "trainer" | "dataset-initializer" | "model-initializer" | "other";
  readonly containers?: readonly Fields[];
  /** More of the pod's spec, of the pod's metadata, of the Job's spec, of its metadata, of the entry. */
  readonly pod?: Fields;
  readonly podMetadata?: Fields;
  readonly job?: Fields;
  readonly metadata?: { readonly labels?: Fields; readonly annotations?: Fields };
  readonly more?: Fields;
}

/** An entry of `replicatedJobs`; without containers it has one called as its step wants it. */
export function job(name: string, sketch: JobSketch = {}): Fields {
  const { step, containers, pod, podMetadata, job: spec, metadata, more } = sketch;
  const called = step === "trainer" ? "node" : step ?? name;
  const labels = { ...metadata?.labels, ...step === undefined ? {} : { [STEP]: step } };
  return {
    name,
    ...more,
    template: {
      metadata: { ...metadata, ...Object.keys(labels).length > 0 ? { labels } : {} },
      spec: {
        ...spec,
        template: {
          ...podMetadata === undefined ? {} : { metadata: podMetadata },
          spec: { containers: containers ?? [container(called)], ...pod },
        },
      },
    },
  };
}

/** The trainer's job of a runtime. */
export const node = (sketch: JobSketch = {}): Fields => job("node", { step: "trainer", ...sketch });

/** A mount of the volume that initializers fill. */
export const INITIALIZER_MOUNT: Fields = {
  volumeMounts: [{ name: "initializer", mountPath: "/workspace" }],
};

/** The job of an initializer, as its step wants it. */
export function initializerJob(
  step: "dataset-initializer" | "model-initializer",
  own: Fields = {},
  more: JobSketch = {},
): Fields {
  return job(step, {
    step,
    containers: [container(step, { ...INITIALIZER_MOUNT, ...own })],
    pod: { volumes: [{ name: "initializer", emptyDir: {} }] },
    ...more,
  });
}

/** The one job of a runtime, with such a container of the trainer. */
export const onNode = (own: Fields): RuntimeSketch => ({
  jobs: [node({ containers: [container("node", own)] })],
});

/** Variables by their names. */
export const env = (values: Readonly<Record<string, string>>): readonly Fields[] =>
  Object.entries(values).map(([name, value]) => ({ name, value }));

/** The field of a trainer that asks for so many GPUs. */
export const gpusPerNode = (count: string): Fields => ({
  resourcesPerNode: { limits: { "nvidia.com/gpu": count } },
});

/** Options of a runtime. */
export interface RuntimeSketch {
  readonly mlPolicy?: Fields;
  readonly podGroupPolicy?: Fields;
  readonly jobs?: readonly Fields[];
  /** More of the JobSet's spec, and its metadata. */
  readonly jobSet?: Fields;
  readonly jobSetMetadata?: Fields;
  readonly name?: string;
  readonly kind?: "TrainingRuntime" | "ClusterTrainingRuntime";
  readonly labels?: Readonly<Record<string, string>>;
}

/** A runtime; `rt` in the namespace of the case where nothing else is said. */
export function runtime(sketch: RuntimeSketch = {}): Manifest {
  const { mlPolicy, podGroupPolicy, jobs = [node()], jobSet, jobSetMetadata } = sketch;
  return {
    apiVersion: TRAINER,
    kind: sketch.kind ?? "TrainingRuntime",
    metadata: {
      name: sketch.name ?? "rt",
      ...sketch.labels === undefined ? {} : { labels: sketch.labels },
    },
    spec: {
      ...mlPolicy === undefined ? {} : { mlPolicy },
      ...podGroupPolicy === undefined ? {} : { podGroupPolicy },
      template: {
        ...jobSetMetadata === undefined ? {} : { metadata: jobSetMetadata },
        spec: { replicatedJobs: jobs, ...jobSet },
      },
    },
  };
}

/** A runtime of the plain policy. */
export const plain = (sketch: RuntimeSketch = {}): Manifest =>
  runtime({ mlPolicy: { numNodes: 1 }, ...sketch });
/** A runtime of the torch policy. */
export const torch = (sketch: RuntimeSketch = {}): Manifest =>
  runtime({ mlPolicy: { numNodes: 1, torch: {} }, ...sketch });

/** TrainJob `tj`; on `rt` where nothing else is said. */
export function trainJob(spec: Fields = {}, metadata: Fields = {}): Manifest {
  const runtimeRef = { kind: "TrainingRuntime", name: "rt" };
  return {
    apiVersion: TRAINER,
    kind: "TrainJob",
    metadata: { name: "tj", ...metadata },
    spec: { runtimeRef, ...spec },
  };
}

/** An entry of `spec.runtimePatches`. */
export function runtimePatch(manager: string, jobs: readonly Fields[], metadata?: Fields): Fields {
  return {
    manager,
    trainingRuntimeSpec: {
      template: { ...metadata === undefined ? {} : { metadata }, spec: { replicatedJobs: jobs } },
    },
  };
}

/** A patch of one job's pods: their spec, their metadata, the Job's metadata. */
export function jobPatch(
  name: string,
  podSpec: Fields | undefined,
  podMetadata?: Fields,
  metadata?: Fields,
): Fields {
  return {
    name,
    template: {
      ...metadata === undefined ? {} : { metadata },
      spec: {
        template: {
          ...podMetadata === undefined ? {} : { metadata: podMetadata },
          ...podSpec === undefined ? {} : { spec: podSpec },
        },
      },
    },
  };
}

const COUNTERS = ["active", "ready", "succeeded", "failed", "suspended"];

/** Whether the TrainJob counts what its JobSet does. */
export function counts(view: NamespaceView): boolean {
  const all = view.get("trainJobs", "tj")?.status?.jobsStatus;
  return Array.isArray(all) && all.some((one) => COUNTERS.some((counter) => one[counter] > 0));
}

/** Some step's end: TrainJob and JobSet know of each other, or an event says why not. */
export function rendered(view: NamespaceView): boolean {
  return counts(view) || hasEvent(view, "TrainJob") ||
    hasEvent(view, "JobSet", "JobCreationFailed");
}

/** Whether there is an event about an object of a kind. */
export function hasEvent(view: NamespaceView, kind: string, reason?: string): boolean {
  return view.list("events").some(({ involvedObject, ...event }) =>
    typeof involvedObject === "object" && involvedObject !== null && "kind" in involvedObject &&
    involvedObject.kind === kind && (reason === undefined || event.reason === reason)
  );
}

/** Whether the object of that kind and name has a condition with that status. */
export function hasCondition(
  kind: "trainJobs" | "jobSets" | "jobs",
  type: string,
  status: "True" | "False" = "True",
  name = "tj",
) {
  return (view: NamespaceView): boolean => {
    const conditions = view.get(kind, name)?.status?.conditions;
    return Array.isArray(conditions) &&
      conditions.some((one) => one.type === type && one.status === status);
  };
}

/** A runtime and a TrainJob, and what comes of them. */
export function renders(runtimeManifest: Manifest, job: Manifest = trainJob()): readonly Step[] {
  return [{ actions: [create(runtimeManifest), create(job)], until: rendered }];
}
