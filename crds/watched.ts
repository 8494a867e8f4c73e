/**
 * Watched kinds, with the fields of their objects that are kept in memory. The fields that are never read are
 * most of a pod and of a Job, and there are as many of those as there are TrainJobs. A field that is to be
 * read is added here first: the types have no other.
 */
import { z } from "zod";
import type { JobSet, ReplicatedJob } from "./jobset.ts";
import { KINDS } from "./kinds.ts";
import type { Kind, KubeMeta, KubeObject } from "../platform/kube/resource.ts";
import { findCondition } from "../platform/kube/conditions.ts";
import { type ConfigMap, type Pod, schemas } from "../platform/kube/kubernetes.ts";
import {
  ANNOTATIONS,
  CA_KEY,
  CHILD_CONFIG_MAP_SUFFIXES,
  LABELS,
  LAST_APPLIED,
  RUNTIME_SNAPSHOT_KEY,
} from "./names.ts";
import { COSCHEDULING, VOLCANO } from "./gang_names.ts";
import { type PodFailure, podFailure } from "./failure_of_pod.ts";
import { conditionSchema } from "./job_kind.ts";
import { JOB_KEYS } from "./job_names.ts";
import { KATIB } from "./katib_names.ts";
import { JOBSET_KEYS, MILEPOST_JOBSET_CONTROLLER } from "./jobset_names.ts";
import type { Trial } from "./trial.ts";
import { POD_CONDITIONS } from "./pod_names.ts";
import { V1_LABELS } from "./v1/names.ts";

/** Of a map of texts the entries of those names. */
function entriesOf(names: readonly string[]) {
  const wanted = new Set(names);
  return z.record(z.string(), z.string()).transform((all): Record<string, string> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => wanted.has(name)))
  ).optional();
}

/** Longest text of an owner reference that is kept; those of real owners are shorter. */
const MAX_REFERENCE_TEXT = 512;
const referenceText = z.string().max(MAX_REFERENCE_TEXT);

const ownerReference = z.object({
  apiVersion: referenceText,
  kind: referenceText,
  name: referenceText,
  uid: referenceText,
  controller: z.boolean().optional(),
});

/** The reference to a controller; of anything else nothing. */
function controllerIn(value: unknown): z.infer<typeof ownerReference>[] {
  const { data } = ownerReference.safeParse(value);
  return data?.controller === true ? [data] : [];
}

/** Of the owners the controller: whoever writes an object may give it any number of owners, of any length. */
const ownerReferences = z.array(z.unknown())
  .transform((all) => all.flatMap(controllerIn))
  .optional();

/** Metadata that identify the object, its controller, and its deletion. */
const identity = {
  name: z.string().optional(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  ownerReferences,
};

const watchedIdentity = z.object({ metadata: z.object(identity) });

/** The labels of a pod that are kept. */
export const WATCHED_POD_LABELS: readonly string[] = [
  LABELS.trainJobName,
  LABELS.trial,
  KATIB.trialLabel,
  JOBSET_KEYS.replicatedJobName,
  JOBSET_KEYS.jobSetUid,
  JOBSET_KEYS.restartAttempt,
  JOB_KEYS.completionIndex,
  V1_LABELS.jobName,
  V1_LABELS.jobRole,
  V1_LABELS.replicaType,
  V1_LABELS.replicaIndex,
];

const watchedPod = z.object({
  metadata: z.object({
    ...identity,
    labels: entriesOf(WATCHED_POD_LABELS),
  }),
  spec: z.object({ nodeName: z.string().optional() }).optional(),
  status: z.object({ phase: z.string().optional(), startTime: z.string().optional() }).optional(),
});

const count = z.number().optional();

/** Longest record of a Job's template that is kept. */
const MAX_RECORD_TEXT = 16_384;

const watchedJob = z.object({
  metadata: z.object({
    ...identity,
    annotations: z.object({
      [ANNOTATIONS.fromTemplate]: z.string().max(MAX_RECORD_TEXT).optional().catch(undefined),
    }).optional(),
    labels: entriesOf([
      JOBSET_KEYS.replicatedJobName,
      JOBSET_KEYS.restartAttempt,
      JOBSET_KEYS.jobRestartAttempt,
    ]),
  }),
  spec: z.object({
    suspend: z.boolean().optional(),
    parallelism: count,
    completions: count,
    template: z.object({
      spec: z.object({
        tolerations: z.array(schemas.toleration).optional(),
        schedulingGates: z.array(schemas.podSchedulingGate).optional(),
      }).optional(),
    }).optional(),
  }).optional(),
  status: z.object({
    conditions: z.array(conditionSchema.strip()).optional(),
    startTime: z.string().optional(),
    active: count,
    ready: count,
    succeeded: count,
    failed: count,
  }).optional(),
});

/** Longest time that is kept, RFC 3339. */
const MAX_TIME_TEXT = 64;

/** Of the annotations of a child ConfigMap the start of the run: any tenant may write others of any length. */
const childMetadata = z.object({
  ...identity,
  annotations: z.object({
    [ANNOTATIONS.startTime]: z.string().max(MAX_TIME_TEXT).optional().catch(undefined),
  }).optional(),
});
const childIdentity = z.object({ metadata: childMetadata });

const childConfigMap = z.object({
  metadata: childMetadata,
  data: entriesOf([RUNTIME_SNAPSHOT_KEY, CA_KEY]),
});

/** Services, service accounts and ConfigMaps: that they are there, and whose they are. */
export type WatchedIdentity = Partial<z.infer<typeof watchedIdentity>>;
/** A pod: its owners and its phase, how it failed if it did, whether it is not ready although it runs, and whether its success is still to be counted. */
export type WatchedPod = Partial<z.infer<typeof watchedPod>> & {
  failure?: PodFailure;
  isUnready?: boolean;
  isUncounted?: boolean;
};
/** A Job: its place in its JobSet, how far it is, and what a resumption adds to. */
export type WatchedJob = Partial<z.infer<typeof watchedJob>>;
/** A child ConfigMap: whose it is, and, unless only that was read, the entries that are ours. */
export type ChildConfigMap = Partial<z.infer<typeof childConfigMap>>;

function watched<T>(kind: Kind<unknown>, schema: z.ZodType<T>): Kind<Partial<T>> {
  return { ...kind, parse: (value) => schema.parse(value) };
}

/** The kind with no more of its objects than which they are and whose, such as of Secrets. */
export function identityOf(kind: Kind<unknown>): Kind<WatchedIdentity> {
  return { ...watched(kind, watchedIdentity), metadataOnly: true };
}

const texts = z.record(z.string(), z.string()).optional();
const wantedPart = z.looseObject({
  metadata: z.object({ ...identity, labels: texts, annotations: texts }),
});

/** The kind with the part of its objects that their creator sets: without the status, which others write. */
export function wantedPartOf(kind: Kind<unknown>): Kind<Partial<z.infer<typeof wantedPart>>> {
  return {
    ...kind,
    parse(value) {
      const { status: _, ...wanted } = wantedPart.parse(value);
      return wanted;
    },
  };
}

/** Marks of pods in a gang: that they are there is read, the name of the group is the TrainJob's. */
const GANG_MARKS: readonly string[] = [
  COSCHEDULING.podGroupLabel,
  VOLCANO.groupNameAnnotation,
];

function outlinedMarks(map: Readonly<Record<string, string>> = {}): Record<string, string> {
  const present = Object.keys(map).filter((name) => GANG_MARKS.includes(name));
  return Object.fromEntries(present.map((name) => [name, ""]));
}

/**
 * Of a replicated job which step it is, and of its pods the labels and the containers' names. Without the
 * values that have the TrainJob's name, which is the JobSet's, the outlines of thousands are the same one.
 */
function outlineOf({ name, template: { metadata, spec } }: ReplicatedJob): ReplicatedJob {
  const step = metadata?.labels?.[LABELS.ancestorStep];
  const pods = spec?.template;
  const { [LABELS.trainJobName]: _, ...others } = pods?.metadata?.labels ?? {};
  const labels = { ...others, ...outlinedMarks(others) };
  const annotations = outlinedMarks(pods?.metadata?.annotations);
  const marks = Object.keys(annotations).length > 0 ? { annotations } : {};
  const containers = (pods?.spec?.containers ?? []).map(({ name }) => ({ name }));
  return {
    name,
    template: {
      ...(step !== undefined && { metadata: { labels: { [LABELS.ancestorStep]: step } } }),
      ...(pods && {
        spec: { template: { metadata: { labels, ...marks }, spec: { containers } } },
      }),
    },
  };
}

/**
 * The JobSet, of one that another executor runs an outline: a running one is never changed but to be
 * paused, and its own executor asks for the rest itself. What is paused is compared as a whole. Which restart it is of
 * is kept.
 */
function parseJobSet(value: unknown): JobSet {
  const jobSet = KINDS.jobSet.parse(value);
  const { metadata, spec } = jobSet;
  const isRead = spec?.suspend === true || spec?.managedBy === MILEPOST_JOBSET_CONTROLLER;
  if (spec === undefined || isRead) return jobSet;
  const { labels: _l, annotations = {}, creationTimestamp: _c, ...identity } = metadata;
  const { [ANNOTATIONS.restartCount]: restart } = annotations;
  const { managedBy, suspend, replicatedJobs = [] } = spec;
  return {
    ...jobSet,
    metadata: {
      ...identity,
      ...(restart !== undefined && { annotations: { [ANNOTATIONS.restartCount]: restart } }),
    },
    spec: {
      ...(managedBy !== undefined && { managedBy }),
      ...(suspend !== undefined && { suspend }),
      replicatedJobs: replicatedJobs.map(outlineOf),
    },
  };
}

/** Objects without what `kubectl apply` remembers of them, which is all of them once more. */
function unapplied<T extends KubeObject & { metadata: KubeMeta }>(kind: Kind<T>): Kind<T> {
  return {
    ...kind,
    parse(value) {
      const object = kind.parse(value);
      const { metadata: { annotations, ...metadata } } = object;
      if (annotations?.[LAST_APPLIED] === undefined) return object;
      const { [LAST_APPLIED]: _, ...others } = annotations;
      const left = Object.keys(others).length > 0 ? { annotations: others } : {};
      return { ...object, metadata: { ...metadata, ...left } };
    },
  };
}

const runSpecHead = z.object({
  apiVersion: z.string().optional().catch(undefined),
  kind: z.string().optional().catch(undefined),
  metadata: z.object({ name: z.string().optional() }).optional().catch(undefined),
});

/** The Trial with no more of its job than what says which one that is: the rest is in the job itself. */
function parseTrial(value: unknown): Trial {
  const trial = KINDS.trial.parse(value);
  if (trial.spec?.runSpec === undefined) return trial;
  const runSpec = runSpecHead.parse(trial.spec.runSpec);
  return { ...trial, spec: { ...trial.spec, runSpec } };
}

/** Whether a pod runs, and is not ready: its node is lost, or a probe of its own fails. */
const isUnready = ({ status }: Pod): boolean =>
  status?.phase === "Running" &&
  findCondition(status.conditions, POD_CONDITIONS.ready)?.status === "False";

/** Whether a pod has succeeded, and its Job controller will count it, though it is being deleted. */
const isUncounted = ({ metadata, status }: Pod): boolean =>
  status?.phase === "Succeeded" &&
  metadata?.finalizers?.includes(JOB_KEYS.trackingFinalizer) === true;

/** Most pods never fail, and have nothing to be kept. */
function parsePod(value: unknown): WatchedPod {
  const pod = watchedPod.parse(value);
  const whole = KINDS.pod.parse(value);
  const failure = podFailure(whole);
  return {
    ...pod,
    ...(failure && { failure }),
    ...(isUnready(whole) && { isUnready: true }),
    ...(isUncounted(whole) && { isUncounted: true }),
  };
}

/** Kinds of which less than all is kept; their parsers leave the rest out. */
export const WATCHED = {
  trainJob: unapplied(KINDS.trainJob),
  optimizationJob: unapplied(KINDS.optimizationJob),
  jobSet: { ...KINDS.jobSet, parse: parseJobSet },
  trial: { ...KINDS.trial, parse: parseTrial },
  pod: { ...KINDS.pod, parse: parsePod },
  job: watched(KINDS.job, watchedJob),
  service: identityOf(KINDS.service),
  serviceAccount: identityOf(KINDS.serviceAccount),
  configMap: { ...watched(KINDS.configMap, childIdentity), metadataOnly: true },
} as const;

/** Child ConfigMaps with their entries, which are read by name: no cache holds what any tenant may write. */
export const CHILD_CONFIG_MAP = watched(KINDS.configMap, childConfigMap);

/** Whether a ConfigMap may be a child of a TrainJob, by its name. */
export function mayBeChild({ metadata }: Pick<ConfigMap | ChildConfigMap, "metadata">): boolean {
  const name = metadata?.name ?? "";
  return CHILD_CONFIG_MAP_SUFFIXES.some((suffix) => name.endsWith(suffix));
}
