/** Whether the pod that a token is bound to is part of a TrainJob: by UIDs, never by labels. */
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import { JOBSET_GROUP, TRAINER_GROUP } from "../../crds/names.ts";
import { controllerOf } from "../../kube/ownership.ts";
import type { KubeMeta, OwnerRef } from "../../kube/resource.ts";
import type { ForbiddenReason } from "../chain/answer.ts";

/** What ownership is decided by. */
export interface OwnedObject {
  metadata?: Pick<KubeMeta, "name" | "namespace" | "uid" | "ownerReferences">;
}

/** A pod, as far as it counts here. */
export interface OwnedPod extends OwnedObject {
  status?: { phase?: string; startTime?: string };
}

/**
 * Finds an object by name; `uid` says which incarnation is wanted, so that a cache that holds
 * another one may look again. Undefined where there is none. Throws where that cannot be known.
 */
export type Lookup<T> = (
  key: { readonly namespace: string; readonly name: string },
  uid?: string,
) => T | undefined | Promise<T | undefined>;

/** Where the objects of a chain are found. */
export interface OwnershipLookups {
  readonly trainJob: Lookup<OwnedObject>;
  /** The TrainJob of that name that the cache holds. Names come from whoever pushes: no read for them. */
  readonly trainJobNow: (
    key: { readonly namespace: string; readonly name: string },
  ) => OwnedObject | undefined;
  readonly jobSet: Lookup<OwnedObject>;
  readonly job: Lookup<OwnedObject>;
  readonly pod: Lookup<OwnedPod>;
  readonly serviceAccount: Lookup<OwnedObject>;
}

/** What a token and a path claim together. The namespace is the token's and the path's. */
export interface OwnershipClaim {
  readonly namespace: string;
  readonly trainJob: string;
  readonly pod: { readonly name: string; readonly uid: string };
  readonly serviceAccount: { readonly name: string; readonly uid: string };
}

/** The job that the pod may report for, or why it may not. */
export type OwnershipDecision =
  | {
    readonly ok: true;
    readonly trainJobUid: string;
    /** When the pod started (`status.startTime`), in milliseconds since the epoch, where it says so. */
    readonly podStartMs?: number;
  }
  | { readonly ok: false; readonly why: ForbiddenReason | "unknown_job" };

/** One step up a chain of controllers. */
export interface ChainLink {
  readonly group: string;
  readonly kind: string;
  /** Whether the renderers would give a child of that name to an owner of this name. */
  readonly nameFits: (child: string, owner: string) => boolean;
}

/**
 * What of a Job's name its pods' names surely begin with. Kubernetes cuts the base of a generated
 * name so that the whole stays within 63 characters with index and random suffix.
 */
const POD_NAME_PREFIX_MAX = 40;

/** Pod → Job → JobSet → TrainJob, with the names that the renderers give. */
export const CHAIN = {
  podToJob: {
    group: "batch",
    kind: "Job",
    nameFits: (pod, job) => pod.startsWith(`${job}-`.slice(0, POD_NAME_PREFIX_MAX)),
  },
  jobToJobSet: {
    group: JOBSET_GROUP,
    kind: "JobSet",
    // A replicated job's name and an index.
    nameFits: (job, jobSet) =>
      job.startsWith(`${jobSet}-`) && /^.+-\d+$/.test(job.slice(jobSet.length + 1)),
  },
  jobSetToTrainJob: {
    group: TRAINER_GROUP,
    kind: "TrainJob",
    nameFits: (jobSet, trainJob) => jobSet === trainJob,
  },
} as const satisfies Record<string, ChainLink>;

/** The controller of an object where it is of the link's kind and their names fit. */
export function ownerAlong(
  metadata: OwnedObject["metadata"],
  link: ChainLink,
): OwnerRef | undefined {
  const owner = controllerOf(metadata);
  const name = metadata?.name;
  if (owner === undefined || name === undefined || owner.kind !== link.kind) return undefined;
  if (owner.apiVersion.split("/")[0] !== link.group) return undefined;
  return link.nameFits(name, owner.name) ? owner : undefined;
}

/** What is answered of a pod that may report; its start is when the kubelet took it up. */
function yes(trainJobUid: string, pod: OwnedPod): OwnershipDecision {
  const podStartMs = Date.parse(pod.status?.startTime ?? "");
  return Number.isNaN(podStartMs)
    ? { ok: true, trainJobUid }
    : { ok: true, trainJobUid, podStartMs };
}

const FINISHED: ReadonlySet<string | undefined> = new Set(["Succeeded", "Failed"]);

/** Why the claimed pod may not report at all; undefined where it may. It may be terminating. */
export function podRefusal(
  claim: OwnershipClaim,
  pod: OwnedPod | undefined,
): ForbiddenReason | undefined {
  if (pod?.metadata?.uid !== claim.pod.uid) return "pod_gone";
  return FINISHED.has(pod.status?.phase) ? "pod_finished" : undefined;
}

/** Decides claims; remembers a chain for as long as its pod is there. */
export interface Ownership {
  /** At once where the caches hold everything. Throws, or rejects, where a lookup does. */
  decide(claim: OwnershipClaim): OwnershipDecision | Promise<OwnershipDecision>;
  /** The pod is gone: what is known of it may be forgotten. */
  forgetPod(uid: string): void;
}

/** The TrainJob that a pod's controllers lead to. */
type Chain = Pick<OwnerRef, "name" | "uid">;

const no = (why: ForbiddenReason | "unknown_job"): OwnershipDecision => ({ ok: false, why });

/** Goes on at once where nothing has to be waited for: a promise costs more than most steps. */
function then<T, R>(
  value: T | Promise<T>,
  next: (value: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Creates {@link Ownership} over lookups. At most `maxPods` (default 50000) chains are kept. */
export function createOwnership(
  options: { readonly lookups: OwnershipLookups; readonly maxPods?: number },
): Ownership {
  const { lookups, maxPods = 50_000 } = options;
  /** The TrainJob by UID of the pod. */
  const chains = createBoundedCache<Chain>(maxPods);

  /** The owner itself, where it is the very one that the reference means. */
  async function follow(
    namespace: string,
    object: OwnedObject,
    link: ChainLink,
    lookup: Lookup<OwnedObject>,
  ): Promise<OwnedObject | undefined> {
    const reference = ownerAlong(object.metadata, link);
    if (reference === undefined) return undefined;
    const owner = await lookup({ namespace, name: reference.name }, reference.uid);
    return owner?.metadata?.uid === reference.uid ? owner : undefined;
  }

  async function trainJobOf(namespace: string, pod: OwnedPod): Promise<OwnerRef | undefined> {
    const job = await follow(namespace, pod, CHAIN.podToJob, lookups.job);
    if (job === undefined) return undefined;
    const jobSet = await follow(namespace, job, CHAIN.jobToJobSet, lookups.jobSet);
    if (jobSet === undefined) return undefined;
    return ownerAlong(jobSet.metadata, CHAIN.jobSetToTrainJob);
  }

  /** A refusal that tells apart whether there is a job of the claimed name. Reads nothing for that. */
  function refuse(claim: OwnershipClaim, why: ForbiddenReason): OwnershipDecision {
    const { namespace, trainJob: name } = claim;
    const isNamed = lookups.trainJobNow({ namespace, name }) !== undefined;
    return no(isNamed ? why : "unknown_job");
  }

  type Step = OwnershipDecision | Promise<OwnershipDecision>;

  function fromPod(claim: OwnershipClaim, pod: OwnedPod | undefined): Step {
    const refusal = podRefusal(claim, pod);
    if (refusal === "pod_gone") chains.delete(claim.pod.uid);
    if (refusal !== undefined || pod === undefined) return refuse(claim, refusal ?? "pod_gone");
    const { namespace, serviceAccount: { name, uid } } = claim;
    return then(lookups.serviceAccount({ namespace, name }, uid), (account) => {
      if (account?.metadata?.uid !== uid) return refuse(claim, "service_account_gone");
      const known = chains.get(claim.pod.uid);
      if (known !== undefined) return fromChain(claim, pod, known);
      return trainJobOf(namespace, pod).then((found) => {
        if (found === undefined) return refuse(claim, "not_of_this_job");
        const chain = { name: found.name, uid: found.uid };
        chains.set(claim.pod.uid, chain);
        return fromChain(claim, pod, chain);
      });
    });
  }

  function fromChain(claim: OwnershipClaim, pod: OwnedPod, { name, uid }: Chain): Step {
    if (name !== claim.trainJob) return refuse(claim, "not_of_this_job");
    // The live one of its name: what the cache holds may be an earlier one.
    return then(lookups.trainJob({ namespace: claim.namespace, name }, uid), (trainJob) => {
      if (trainJob?.metadata?.uid !== uid) return refuse(claim, "not_of_this_job");
      return yes(uid, pod);
    });
  }

  return {
    forgetPod: (uid) => void chains.delete(uid),
    decide(claim) {
      const { namespace, pod: { name, uid } } = claim;
      return then(lookups.pod({ namespace, name }, uid), (pod) => fromPod(claim, pod));
    },
  };
}
