/** Calls about the PersistentVolumeClaims of a JobSet: reads by name, and creations. */
import type { JobSet } from "../../crds/jobset.ts";
import { JOBSET_REASONS, VOLUME_CLAIMS_PART } from "../../crds/jobset_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { PersistentVolumeClaim } from "../../platform/kube/kubernetes.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isAlreadyExists, lacksRight, messageOf } from "../../platform/kube/errors.ts";
import { subjectOf } from "../../platform/kube/event_object.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import type { ResolvedVolumeClaim } from "./defaults.ts";
import type { ExistingClaims } from "./volume_claims.ts";

/** Context of the calls. */
export interface ClaimCalls {
  readonly jobSet: JobSet;
  readonly events: Pick<EventRecorder, "record">;
  readonly client: KubeClient;
  /** The name of the manager, with which the names of its roles begin. */
  readonly managerName: string;
  readonly signal: AbortSignal;
}

const KIND = KINDS.persistentVolumeClaim;

/** Returns what to do about a right that the manager does not have; empty if it has it. */
function missingRight({ managerName }: ClaimCalls, error: unknown): string {
  if (!lacksRight(error)) return "";
  return `; bind the ClusterRole ${managerName}-${VOLUME_CLAIMS_PART} to the manager's service account`;
}

/** Reports an error by an event, and returns it. */
function reported(calls: ClaimCalls, error: unknown): unknown {
  if (!calls.signal.aborted) {
    calls.events.record(subjectOf(KINDS.jobSet, calls.jobSet), {
      type: "Warning",
      reason: JOBSET_REASONS.claimCreationFailed,
      message: messageOf(error) + missingRight(calls, error),
    });
  }
  return error;
}

/**
 * Returns those of the claims that exist. They are few, and only needed before Jobs are created, so that
 * no cache of the claims of the cluster is kept.
 */
export async function readClaims(
  calls: ClaimCalls,
  claims: readonly ResolvedVolumeClaim[],
): Promise<ExistingClaims> {
  const { client, jobSet: { metadata: { namespace } }, signal } = calls;
  const existing = new Map<string, PersistentVolumeClaim>();
  for (const { claimName: name } of claims) {
    try {
      const claim = await getOrUndefined(client, KIND, { namespace, name }, { signal });
      if (claim !== undefined) existing.set(name, claim);
    } catch (error) {
      throw reported(calls, error);
    }
  }
  return existing;
}

/** Creates the claims. Returns false if one exists after all: it was made since they were read. */
export async function createClaims(
  calls: ClaimCalls,
  claims: readonly PersistentVolumeClaim[],
): Promise<boolean> {
  let isCurrent = true;
  for (const claim of claims) {
    try {
      await calls.client.create(KIND, claim, { signal: calls.signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw reported(calls, error);
      isCurrent = false;
    }
  }
  return isCurrent;
}
