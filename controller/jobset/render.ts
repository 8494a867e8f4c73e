/** Rendering of the Jobs, the Service and the volume claims of a JobSet. Pure. */
import { createHash } from "node:crypto";
import type { JobSet, JobSetStatus } from "../../crds/jobset.ts";
import type {
  Job,
  ObjectMeta,
  PersistentVolumeClaim,
  PodTemplateSpec,
  Service,
} from "../../platform/kube/kubernetes.ts";
import { JOBSET_API_VERSION, JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { controllerReference } from "../../platform/kube/owner_references.ts";
import {
  replicasOf,
  type ResolvedReplicatedJob,
  type ResolvedSpec,
  type ResolvedVolumeClaim,
} from "./defaults.ts";
import { jobRestarts } from "./job_restarts.ts";
import { isReserved, placementAnnotations, withReservedNodes } from "./placement.ts";
import { recordOf } from "./template_record.ts";
import { withClaimVolumes } from "./volume_claims.ts";

/** Returns the name of a Job: `<jobset>-<replicated job>-<index>`. */
export function jobName(jobSet: string, replicatedJob: string, index: number): string {
  return `${jobSet}-${replicatedJob}-${index}`;
}

/** Returns the job key: the lower-case hexadecimal SHA-1 of `<namespace>/<job>`. */
export function jobKey(namespace: string, job: string): string {
  return createHash("sha1").update(`${namespace}/${job}`).digest("hex");
}

/** Returns the address of the coordinating pod: `<jobset>-<rj>-<job>-<pod>.<subdomain>`. */
export function coordinatorEndpoint(
  jobSet: string,
  coordinator: NonNullable<ResolvedSpec["coordinator"]>,
  subdomain: string,
): string {
  const job = jobName(jobSet, coordinator.replicatedJob, coordinator.jobIndex);
  return `${job}-${coordinator.podIndex}.${subdomain}`;
}

/** Returns the labels, which are also annotations, that place a Job and its pods in the JobSet. */
function placeKeys(
  { jobSet, spec, replicatedJob, index, status }: JobRequest,
): Record<string, string> {
  const { name = "", namespace = "", uid = "" } = jobSet.metadata;
  const position = spec.replicatedJobs.findIndex((job) => job.name === replicatedJob.name);
  const earlier = spec.replicatedJobs.slice(0, Math.max(position, 0));
  const inGroup = (job: ResolvedReplicatedJob) => job.groupName === replicatedJob.groupName;
  return {
    [JOBSET_KEYS.jobSetName]: name,
    [JOBSET_KEYS.jobSetUid]: uid,
    [JOBSET_KEYS.replicatedJobName]: replicatedJob.name,
    [JOBSET_KEYS.replicatedJobReplicas]: `${replicatedJob.replicas}`,
    [JOBSET_KEYS.jobIndex]: `${index}`,
    [JOBSET_KEYS.jobGlobalIndex]: `${replicasOf(earlier) + index}`,
    [JOBSET_KEYS.globalReplicas]: `${replicasOf(spec.replicatedJobs)}`,
    [JOBSET_KEYS.groupName]: replicatedJob.groupName,
    [JOBSET_KEYS.groupReplicas]: `${replicasOf(spec.replicatedJobs.filter(inGroup))}`,
    [JOBSET_KEYS.jobGroupIndex]: `${replicasOf(earlier.filter(inGroup)) + index}`,
    [JOBSET_KEYS.jobKey]: jobKey(namespace, jobName(name, replicatedJob.name, index)),
    [JOBSET_KEYS.restartAttempt]: `${status.restarts ?? 0}`,
    ...(spec.restartsSingleJobs && {
      [JOBSET_KEYS.jobRestartAttempt]: `${
        jobRestarts(status.replicatedJobsStatus, replicatedJob.name)[index] ?? 0
      }`,
    }),
    ...(spec.coordinator && {
      [JOBSET_KEYS.coordinator]: coordinatorEndpoint(
        name,
        spec.coordinator,
        spec.network.subdomain,
      ),
    }),
  };
}

/** The Job to render. */
export interface JobRequest {
  readonly jobSet: JobSet;
  readonly spec: ResolvedSpec;
  readonly replicatedJob: ResolvedReplicatedJob;
  /** From 0 up to replicas - 1. */
  readonly index: number;
  /** The JobSet's current status, which counts the restarts. */
  readonly status: JobSetStatus;
}

function withKeys(
  metadata: ObjectMeta | undefined,
  keys: Record<string, string>,
  placement: Record<string, string>,
): ObjectMeta {
  return {
    ...metadata,
    labels: { ...metadata?.labels, ...keys },
    annotations: { ...metadata?.annotations, ...keys, ...placement },
  };
}

function ownedBy(jobSet: JobSet) {
  const { name = "", uid = "" } = jobSet.metadata;
  return [controllerReference({ apiVersion: JOBSET_API_VERSION, kind: "JobSet", name, uid })];
}

/** Returns one Job of a JobSet. The inputs are not changed. */
export function renderJob(request: JobRequest): Job {
  const { jobSet, spec, replicatedJob, index } = request;
  const { name = "", namespace } = jobSet.metadata;
  const keys = placeKeys(request);
  const { metadata, spec: jobSpec } = replicatedJob.template;
  const podTemplate: PodTemplateSpec = jobSpec?.template ?? {};
  const placement = placementAnnotations(jobSet.metadata, metadata);
  const { labels, annotations } = withKeys(metadata, keys, placement);
  const job = jobName(name, replicatedJob.name, index);
  const podSpec = podTemplate.spec && {
    ...withClaimVolumes(
      isReserved(annotations)
        ? withReservedNodes(podTemplate.spec, { namespace, job })
        : podTemplate.spec,
      spec.volumeClaims,
    ),
    ...(spec.network.enableDNSHostnames && { subdomain: spec.network.subdomain }),
  };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: job,
      namespace,
      labels,
      annotations: { ...annotations, ...recordOf(podTemplate) },
      ownerReferences: ownedBy(jobSet),
    },
    spec: {
      ...jobSpec,
      suspend: spec.suspend,
      template: {
        ...podTemplate,
        metadata: withKeys(podTemplate.metadata, keys, placement),
        ...(podSpec && { spec: podSpec }),
      },
    },
  };
}

/** Returns the headless Service of a JobSet, by which its pods find each other. */
export function renderService(jobSet: JobSet, spec: ResolvedSpec): Service {
  const { name = "", namespace } = jobSet.metadata;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: spec.network.subdomain,
      namespace,
      ownerReferences: ownedBy(jobSet),
    },
    spec: {
      clusterIP: "None",
      selector: { [JOBSET_KEYS.jobSetName]: name },
      publishNotReadyAddresses: spec.network.publishNotReadyAddresses,
    },
  };
}

/** Returns a claim of the JobSet; one that is deleted with it is owned by it. */
export function renderClaim(
  jobSet: JobSet,
  { claimName, template, whenDeleted }: ResolvedVolumeClaim,
): PersistentVolumeClaim {
  const { name = "", namespace } = jobSet.metadata;
  const { labels, annotations } = template.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: claimName,
      namespace,
      labels: { ...labels, [JOBSET_KEYS.jobSetName]: name },
      ...(annotations && { annotations }),
      ...(whenDeleted === "Delete" && { ownerReferences: ownedBy(jobSet) }),
    },
    spec: template.spec,
  };
}
