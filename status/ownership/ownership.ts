/** Ownership of pods: decides by UIDs, never by labels, for which job a pod may report. */
import { isEndedPhase } from "../../crds/pod_names.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import { continueWith } from "../../platform/base/continue_with.ts";
import type { JobKind, OwnerLink } from "../../crds/job_kind.ts";
import type { Kind, KubeMeta, OwnerRef } from "../../platform/kube/resource.ts";
import type { Lookup } from "../../platform/kube/watching/cached_lookup.ts";
import { controllerOf } from "../../platform/kube/owner_references.ts";
import type { ForbiddenReason } from "../chain/status_refusals.ts";

/** The fields of an object by which ownership is decided. */
export interface OwnedObject {
  metadata?: Pick<KubeMeta, "name" | "namespace" | "uid" | "ownerReferences">;
}

/** The fields of a pod by which ownership is decided. */
export interface OwnedPod extends OwnedObject {
  status?: { phase?: string; startTime?: string };
}

/** Lookups for one kind of job. */
export interface KindLookups {
  readonly pod: Lookup<OwnedPod>;
  readonly job: Lookup<OwnedObject>;
  /** The job of that name in the cache. Names come from the client, so there is no read for them. */
  readonly jobNow: (
    key: { readonly namespace: string; readonly name: string },
  ) => OwnedObject | undefined;
}

/** Lookups for the objects of owner paths. */
export interface OwnershipLookups {
  readonly ofKind: (kind: JobKind) => KindLookups;
  /** Owners between pod and job. */
  readonly owner: (kind: Kind<unknown>) => Lookup<OwnedObject>;
  readonly serviceAccount: Lookup<OwnedObject>;
}

/** Claim of a token and a path together. The namespace is the token's and the path's. */
export interface OwnershipClaim {
  readonly kind: JobKind;
  readonly namespace: string;
  /** Name of the job. */
  readonly job: string;
  readonly pod: { readonly name: string; readonly uid: string };
  readonly serviceAccount: { readonly name: string; readonly uid: string };
}

/** The job that the pod may report for, or why it may not. */
export type OwnershipDecision =
  | {
    readonly ok: true;
    readonly jobUid: string;
    /** Start of the pod (`status.startTime`) in milliseconds since the epoch, if known. */
    readonly podStartMs?: number;
  }
  | { readonly ok: false; readonly why: ForbiddenReason | "unknown_job" };

/** The controller of an object if it is of that kind and their names fit. */
function ownerAlong(
  metadata: OwnedObject["metadata"],
  kind: Pick<Kind<unknown>, "group" | "kind">,
  nameFits: OwnerLink["nameFits"],
): OwnerRef | undefined {
  const owner = controllerOf(metadata);
  const name = metadata?.name;
  if (owner === undefined || name === undefined || owner.kind !== kind.kind) return undefined;
  if (owner.apiVersion.split("/")[0] !== kind.group) return undefined;
  return nameFits(name, owner.name) ? owner : undefined;
}

/** The decision for a pod that may report; its start is when the kubelet accepted it. */
function allowed(jobUid: string, pod: OwnedPod): OwnershipDecision {
  const podStartMs = Date.parse(pod.status?.startTime ?? "");
  return Number.isNaN(podStartMs) ? { ok: true, jobUid } : { ok: true, jobUid, podStartMs };
}

/** Why the claimed pod may not report at all; undefined if it may. It may be terminating. */
function podRefusal(
  claim: OwnershipClaim,
  pod: OwnedPod | undefined,
): ForbiddenReason | undefined {
  if (pod?.metadata?.uid !== claim.pod.uid) return "pod_gone";
  return isEndedPhase(pod.status?.phase) ? "pod_finished" : undefined;
}

/** The job that a pod's controllers lead to. */
interface OwningJob {
  readonly kind: JobKind;
  readonly name: string;
  readonly uid: string;
}

const denied = (why: ForbiddenReason | "unknown_job"): OwnershipDecision => ({ ok: false, why });

/** Decides claims; remembers the owner of a pod for as long as the pod exists. */
export type Ownership = ReturnType<typeof createOwnership>;

/** Creates {@link Ownership} over lookups. At most `maxPods` (default 50000) owners are kept. */
export function createOwnership(
  options: { readonly lookups: OwnershipLookups; readonly maxPods?: number },
) {
  const { lookups, maxPods = 50_000 } = options;
  /** The job by UID of the pod. */
  const owners = createBoundedCache<OwningJob>(maxPods);

  /** The owner of an object along the link, if it is the very one that the reference means. */
  async function follow(
    namespace: string,
    { metadata }: OwnedObject,
    { owner: kind, nameFits }: OwnerLink,
  ): Promise<OwnedObject | undefined> {
    const reference = ownerAlong(metadata, kind, nameFits);
    if (reference === undefined) return undefined;
    const owner = await lookups.owner(kind)({ namespace, name: reference.name }, reference.uid);
    return owner?.metadata?.uid === reference.uid ? owner : undefined;
  }

  /** The job of that kind that the pod's controllers lead to. */
  async function jobOf(
    namespace: string,
    pod: OwnedPod,
    kind: JobKind,
  ): Promise<OwningJob | undefined> {
    for (const { through, nameFits } of kind.ownerPaths) {
      let object: OwnedObject | undefined = pod;
      for (const link of through) object = object && await follow(namespace, object, link);
      const job = object && ownerAlong(object.metadata, kind, nameFits);
      if (job !== undefined) return { kind, name: job.name, uid: job.uid };
    }
    return undefined;
  }

  /** A refusal that says whether a job of the claimed name exists. Reads nothing for that. */
  function refuse(
    { kind, namespace, job }: OwnershipClaim,
    why: ForbiddenReason,
  ): OwnershipDecision {
    const isNamed = lookups.ofKind(kind).jobNow({ namespace, name: job }) !== undefined;
    return denied(isNamed ? why : "unknown_job");
  }

  type Step = OwnershipDecision | Promise<OwnershipDecision>;

  function fromPod(claim: OwnershipClaim, pod: OwnedPod | undefined): Step {
    const refusal = podRefusal(claim, pod);
    if (refusal === "pod_gone") owners.delete(claim.pod.uid);
    if (refusal !== undefined || pod === undefined) return refuse(claim, refusal ?? "pod_gone");
    const { namespace, serviceAccount: { name, uid } } = claim;
    return continueWith(lookups.serviceAccount({ namespace, name }, uid), (account) => {
      if (account?.metadata?.uid !== uid) return refuse(claim, "service_account_gone");
      const known = owners.get(claim.pod.uid);
      if (known?.kind === claim.kind) return fromOwner(claim, pod, known);
      return jobOf(namespace, pod, claim.kind).then((found) => {
        if (found === undefined) return refuse(claim, "not_of_this_job");
        owners.set(claim.pod.uid, found);
        return fromOwner(claim, pod, found);
      });
    });
  }

  function fromOwner(claim: OwnershipClaim, pod: OwnedPod, { kind, name, uid }: OwningJob): Step {
    if (name !== claim.job) return refuse(claim, "not_of_this_job");
    // The live one of its name: what the cache holds may be an earlier one.
    const { job } = lookups.ofKind(kind);
    return continueWith(job({ namespace: claim.namespace, name }, uid), (live) => {
      if (live?.metadata?.uid !== uid) return refuse(claim, "not_of_this_job");
      return allowed(uid, pod);
    });
  }

  return {
    /** The pod is gone: what is known of it may be forgotten. */
    forgetPod: (uid: string) => void owners.delete(uid),
    /** Decides at once if the caches hold everything. Throws, or rejects, if a lookup does. */
    decide(claim: OwnershipClaim): OwnershipDecision | Promise<OwnershipDecision> {
      const { kind, namespace, pod: { name, uid } } = claim;
      return continueWith(
        lookups.ofKind(kind).pod({ namespace, name }, uid),
        (pod) => fromPod(claim, pod),
      );
    },
  };
}
