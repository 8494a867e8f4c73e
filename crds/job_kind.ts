/** Job kind descriptors: everything in which one kind of job differs from another, as data. */
import { z } from "zod";
import { apiVersionOf, type Kind } from "../platform/kube/resource.ts";
import { schemas } from "../platform/kube/kubernetes.ts";
import type { Informer } from "../platform/kube/watching/informer.ts";

/** A condition, as far as it is read without regard to its kind. */
export const conditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
  lastTransitionTime: z.string().optional(),
});

/** A job of any kind, as far as it is read without regard to its kind. */
export const jobSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: schemas.objectMeta,
  status: z.looseObject({ conditions: z.array(conditionSchema).optional() }).optional(),
});
export type AnyJob = z.infer<typeof jobSchema>;

/** One step of an owner path: a controlling owner. */
export interface OwnerLink {
  readonly owner: Kind<unknown>;
  /** Whether the controller of the owner would give a child of that name to an owner of this name. */
  readonly nameFits: (child: string, owner: string) => boolean;
}

/** The controlling owners of a pod up to its job. */
export interface OwnerPath {
  /** The owners between pod and job, the pod's controller first. */
  readonly through: readonly OwnerLink[];
  /** Whether a job of that name would have a child of this name. */
  readonly nameFits: (child: string, job: string) => boolean;
}

/** The place in a job's object that shows the progress of its pods. */
export type ProgressPlace =
  /** A field of the status; where the job's definition drops that, an annotation, which holds the same as JSON. */
  | { readonly at: "status"; readonly field: string; readonly orAnnotation?: string }
  /** An annotation that holds the same as JSON, for definitions that prune unknown fields. */
  | { readonly at: "annotation"; readonly key: string };

/** How a job ended by itself. */
export type JobResult = "Complete" | "Failed";

/** Katib's defaults of a kind for a trial template. */
export interface KatibDefaults {
  readonly primaryPodLabels?: Readonly<Record<string, string>>;
  /** Labels that earlier releases of Katib wrote into templates, and that mean `primaryPodLabels`. */
  readonly formerPodLabels?: Readonly<Record<string, string>>;
  /** Types of the conditions that mean success and failure. */
  readonly success?: string;
  readonly failure?: string;
}

/** A kind of job whose pods push progress and metrics. */
export interface JobKind extends Kind<AnyJob> {
  /** `<plural>.<group>`: the name of its CustomResourceDefinition, and of the kind in messages. */
  readonly id: string;
  readonly apiVersion: string;
  /** The paths of owners by which a pod belongs to a job; the first one that fits counts. */
  readonly ownerPaths: readonly OwnerPath[];
  /**
   * Users besides the manager that may make a job of this kind the controller of a pod, and set the labels
   * below: service accounts as `system:serviceaccount:NAMESPACE:NAME`.
   */
  readonly controllers: readonly string[];
  /** How its pods are selected. Labels select, they never authorize. */
  readonly podLabels: {
    /** Its value is the name of the job. */
    readonly jobName: string;
    /** Distinguishes the kind from others that use the same label for the name. */
    readonly kind?: { readonly key: string; readonly value: string };
    /** Labels of the pods of other kinds, which may have the first label, too. */
    readonly without?: readonly string[];
    /** The labels of the pod whose metrics count when no template says it; without any every pod counts. */
    readonly first: Readonly<Record<string, string>>;
    /** Returns those labels for one job, of a kind whose jobs differ in them. Default: `first`. */
    readonly firstOf?: (job: AnyJob) => Readonly<Record<string, string>>;
  };
  /**
   * The ConfigMap with the CA bundle that is mounted into the job's pods. Absent: each pod gets the bundle in an
   * annotation.
   */
  readonly caConfigMap?: {
    readonly nameOf: (job: string) => string;
    /** Whether the manager makes it; if not, no pod waits for it. */
    readonly madeByManager: boolean;
  };
  /** Absent: progress is kept for readers, and written nowhere. */
  readonly progress?: ProgressPlace;
  readonly conditions: {
    /** Each ends the job when it is True, unless its reason can go away again. The first one counts. */
    readonly ends: readonly {
      readonly type: string;
      readonly end: JobResult;
      readonly recoverable?: readonly string[];
    }[];
    readonly earlyStopped: string;
    readonly suspended: string;
    /** True while failed pods are made anew. Absent: the status of such a job does not say so. */
    readonly restarting?: string;
    /** Whether a condition also says when it was last written, as `lastUpdateTime`. */
    readonly haveUpdateTime?: boolean;
  };
  /**
   * Whether other operators run all its jobs, as Trials of Katib: nothing is written to their status, and one that
   * is stopped early is deleted, or suspended if its Trial retains it.
   */
  readonly isForeign?: boolean;
  /** Returns the controller that runs the job's pods in another cluster, if one does. Default: none. */
  readonly foreignController?: (job: AnyJob) => string | undefined;
  /** Whether a pod of the job has run, by the object. */
  readonly hasBegun: (job: AnyJob) => boolean;
  /** The conditions that stop a job early, in the order in which they are set. */
  readonly stop: readonly {
    readonly type: string;
    readonly status: "True" | "False";
    readonly reason: string;
    /** Whether the condition is only changed, and not added to a job that has none of its type. */
    readonly onlyIfPresent?: boolean;
  }[];
  readonly katib: KatibDefaults;
}

/** A job by its kind and name. */
export interface NamedJob {
  readonly kind: JobKind;
  readonly namespace: string;
  readonly name: string;
}

/** A job by kind, name and UID; whatever is kept of a job is kept only by the UID. */
export interface JobRef extends NamedJob {
  readonly uid: string;
}

/** Completes a descriptor. */
export function defineJobKind(fields: Omit<JobKind, "id" | "apiVersion">): JobKind {
  return { ...fields, id: `${fields.plural}.${fields.group}`, apiVersion: apiVersionOf(fields) };
}

/** The reference to a job that was read from the API server. */
export function jobRefOf(kind: JobKind, { metadata }: Pick<AnyJob, "metadata">): JobRef {
  const { namespace = "", name = "", uid = "" } = metadata;
  return { kind, namespace, name, uid };
}

/** The job in messages for people. */
export const jobText = ({ kind, namespace, name }: Omit<JobRef, "uid">): string =>
  `${kind.kind} ${namespace}/${name}`;

/** Key of a job in paths: the place of its kind in the API, and its own name. */
type KindPath = Pick<JobKind, "apiVersion" | "plural">;

function jobPath({ apiVersion, plural }: KindPath, namespace: string, name: string): string {
  return `${apiVersion}/namespaces/${namespace}/${plural}/${name}`;
}

/** Path of the status endpoint of one job (KEP-2779). */
export function statusPath(kind: KindPath, namespace: string, name: string): string {
  return `/apis/${jobPath(kind, namespace, name)}/status`;
}

/** Path of one job's observation. */
export function observationPath(kind: KindPath, namespace: string, name: string): string {
  return `/apis/${jobPath(kind, namespace, name)}/observation`;
}

/** Path of the observations of many jobs of a namespace. */
export function observationsPath({ apiVersion, plural }: KindPath, namespace: string): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/${plural}/observations`;
}

/** Path at which a job is stopped early. */
export function stopPath(kind: KindPath, namespace: string, name: string): string {
  return `/apis/${jobPath(kind, namespace, name)}/stop`;
}

/** Path at which a job is restarted. */
export function restartPath(kind: KindPath, namespace: string, name: string): string {
  return `/apis/${jobPath(kind, namespace, name)}/restart`;
}

/** Audience that Kubeflow Trainer v2.3 gives to one job's tokens; accepted for that job only. */
export function jobAudience(kind: KindPath, namespace: string, name: string): string {
  return `${jobPath(kind, namespace, name)}/status`;
}

/** The label selector of the pods of a kind. */
export function podSelector({ podLabels: { jobName, kind, without = [] } }: JobKind): string {
  const ofKind = kind === undefined ? [] : [`${kind.key}=${kind.value}`];
  return [jobName, ...ofKind, ...without.map((label) => `!${label}`)].join(",");
}

/** The keys of the labels by which the pods of a kind are selected. */
export function selectingLabels({ podLabels: { jobName, kind } }: JobKind): string[] {
  return kind === undefined ? [jobName] : [jobName, kind.key];
}

/** The caches of jobs by their kind. */
export type WatchedJobs = ReadonlyMap<
  JobKind,
  { readonly jobs: Pick<Informer<AnyJob>, "get" | "onChange"> }
>;

/** Returns the job as its cache has it now, if the cache has the one with that UID. */
export function jobNow(
  caches: ReadonlyMap<JobKind, { readonly jobs: Pick<Informer<AnyJob>, "get"> }>,
  { kind, namespace, name, uid }: JobRef,
): AnyJob | undefined {
  const job = caches.get(kind)?.jobs.get({ namespace, name });
  return job?.metadata.uid === uid ? job : undefined;
}
