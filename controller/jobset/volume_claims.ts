/** PersistentVolumeClaims of a JobSet: the volumes of their pods, and claims of other owners. Pure. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { KINDS } from "../../crds/kinds.ts";
import { allContainers } from "../../crds/pod_containers.ts";
import type { PersistentVolumeClaim, PodSpec } from "../../platform/kube/kubernetes.ts";
import { sameJson } from "../../platform/base/json.ts";
import { compareQuantities, parseQuantity } from "../../platform/base/quantity.ts";
import type { WatchedJob } from "../../crds/watched.ts";
import { controllerOf, isOfPredecessor } from "../../platform/kube/owner_references.ts";
import { bucketJobs, isJobReady } from "./buckets.ts";
import { replicasOf, type ResolvedSpec, type ResolvedVolumeClaim } from "./defaults.ts";
import { isSuccessful } from "./policy/success.ts";
import { terminalCondition } from "./policy/terminal_condition.ts";

/** Reports whether a container or an init container of the pod mounts a volume of that name. */
export function mountsVolume(spec: PodSpec | undefined, volume: string): boolean {
  return allContainers({ spec })
    .some(({ volumeMounts }) => volumeMounts?.some(({ name }) => name === volume));
}

/** Returns the pod with a volume for each claim that its containers mount. */
export function withClaimVolumes(pod: PodSpec, claims: readonly ResolvedVolumeClaim[]): PodSpec {
  const volumes = claims.filter(({ volumeName }) => mountsVolume(pod, volumeName))
    .map(({ volumeName, claimName }) => ({
      name: volumeName,
      persistentVolumeClaim: { claimName },
    }));
  return volumes.length === 0 ? pod : { ...pod, volumes: [...pod.volumes ?? [], ...volumes] };
}

/**
 * Reports whether pods of the JobSet may start, which need its claims: one of its Jobs is missing, suspended or
 * not ready. Throws if the labels of a Job cannot be read.
 */
export function needsClaims(
  { status }: JobSet,
  spec: ResolvedSpec,
  jobs: readonly WatchedJob[],
): boolean {
  if (spec.volumeClaims.length === 0 || terminalCondition(status) !== undefined) return false;
  const { active, succeeded, failed } = bucketJobs(jobs, status);
  if (failed.length > 0 || isSuccessful(spec, succeeded)) return false;
  return succeeded.length + active.filter(isJobReady).length < replicasOf(spec.replicatedJobs);
}

/** The claims that exist, by name. */
export type ExistingClaims = ReadonlyMap<string, PersistentVolumeClaim>;

/** State of the claims of a JobSet. */
export type ClaimState = ReturnType<typeof claimState>;

/** Reports whether the claim goes away by itself: it is being deleted, or its JobSet was. */
function isLeaving(
  { metadata }: PersistentVolumeClaim,
  jobSet: JobSet,
): boolean {
  return metadata?.deletionTimestamp !== undefined ||
    isOfPredecessor(metadata, KINDS.jobSet, jobSet.metadata);
}

function isAtLeast(one: string | undefined, other: string): boolean {
  const has = parseQuantity(one ?? "");
  const wants = parseQuantity(other);
  return has !== undefined && wants !== undefined && compareQuantities(has, wants) >= 0;
}

/** Reports whether the claim has all that the template asks for; storage may have been expanded. */
function satisfies(claim: PersistentVolumeClaim, template: PersistentVolumeClaim): boolean {
  const { resources: wantedResources, ...wanted } = template.spec ?? {};
  const { resources, ...present } = claim.spec ?? {};
  const values = new Map<string, unknown>(Object.entries(present));
  const holds = Object.entries(wanted).every(([key, value]) =>
    value === undefined || sameJson(values.get(key), value)
  );
  return holds &&
    Object.entries(wantedResources?.requests ?? {}).every(([name, quantity]) =>
      isAtLeast(resources?.requests?.[name], quantity)
    );
}

function problemOf(
  { claimName, template, whenDeleted, path, policyPath }: ResolvedVolumeClaim,
  claim: PersistentVolumeClaim,
  { metadata: { namespace, uid } }: JobSet,
): FieldProblem[] {
  const owner = controllerOf(claim.metadata);
  if (owner !== undefined && owner.uid === uid) return [];
  if (owner !== undefined) {
    const message = `PVC ${claimName} is controlled by ${owner.kind} ${owner.name}; ` +
      "delete that, or use another name";
    return [{ field: `${path}.metadata.name`, message }];
  }
  if (whenDeleted !== "Retain") {
    const message = `retentionPolicy must be retain when PVC exists: ${claimName} was not made ` +
      "for this JobSet; delete it, or retain claims";
    return [{ field: `${policyPath}.retentionPolicy.whenDeleted`, message }];
  }
  if (satisfies(claim, template)) return [];
  const message = `spec does not match existing PVC ${claimName} in namespace ${namespace}`;
  return [{ field: `${path}.spec`, message }];
}

/**
 * Returns what is to be done about the claims of a JobSet. The owner of a claim matters only at the start of the
 * JobSet: a claim that its pods have used stays theirs, also if somebody removes the owner to keep the files.
 */
export function claimState(
  jobSet: JobSet,
  claims: readonly ResolvedVolumeClaim[],
  { existing, isStart }: { readonly existing: ExistingClaims; readonly isStart: boolean },
) {
  const missing: ResolvedVolumeClaim[] = [];
  const problems: FieldProblem[] = [];
  const leaving: PersistentVolumeClaim[] = [];
  for (const claim of claims) {
    const found = existing.get(claim.claimName);
    if (found === undefined) missing.push(claim);
    else if (isLeaving(found, jobSet)) leaving.push(found);
    else if (isStart) problems.push(...problemOf(claim, found, jobSet));
  }
  return {
    /** The claims that do not exist yet. */
    missing,
    /** The claims that are being deleted, so that their names become free. */
    leaving,
    /** A problem for each claim that exists and is not for this JobSet. */
    problems,
  };
}
