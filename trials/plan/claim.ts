/** Claim of a TrainJob to be the job of a Trial. Pure. */
import { KATIB } from "../../crds/katib_names.ts";
import type { AnyJob } from "../../crds/job_kind.ts";
import type { Trial } from "../../crds/trial.ts";
import { controllerOfKind } from "../../platform/kube/owner_references.ts";
import type { KubeMeta, OwnerRef } from "../../platform/kube/resource.ts";

/** The judgement of a claim. */
export type Claim =
  /** The job claims no Trial. */
  | { readonly kind: "none" }
  | { readonly kind: "holds"; readonly trial: Trial }
  /** `rivals` are the Trials that claim the same job, if that is the reason. */
  | { readonly kind: "refused"; readonly why: string; readonly rivals: readonly Trial[] };

/** The objects by which a claim is judged. */
export interface ClaimInputs {
  readonly job: AnyJob;
  /** The Trial that the job's controller reference names, by its name; undefined if there is none. */
  readonly trial: Trial | undefined;
  /** Trials of the job's namespace that would make a job of its name; see {@link jobKeyOf}. */
  readonly claimants: readonly Trial[];
}

/** Returns the object's controller reference if it names a Trial, of any version. */
export function trialReference(
  metadata: Pick<KubeMeta, "ownerReferences"> | undefined,
): OwnerRef | undefined {
  return controllerOfKind(metadata, { group: KATIB.group, kind: KATIB.trialKind });
}

function runNameOf({ spec }: Trial): string | undefined {
  const metadata = spec?.runSpec?.metadata;
  if (typeof metadata !== "object" || metadata === null || !("name" in metadata)) return undefined;
  return typeof metadata.name === "string" ? metadata.name : undefined;
}

/** Returns `namespace/name` of the Trial's job, which Katib finds by the name in `spec.runSpec`. */
export function jobKeyOf(trial: Trial): string {
  return `${trial.metadata.namespace ?? ""}/${runNameOf(trial) ?? trial.metadata.name ?? ""}`;
}

function refused(why: string, rivals: readonly Trial[] = []): Claim {
  return { kind: "refused", why, rivals };
}

/**
 * Judges a job's claim. It holds if the job is as Katib makes it: its controller reference names the Trial by
 * UID, its name is the Trial's, and its kind and apiVersion are those of `spec.runSpec`. No other Trial may
 * claim the same job.
 */
export function judgeClaim({ job, trial, claimants }: ClaimInputs): Claim {
  const reference = trialReference(job.metadata);
  if (reference === undefined) return { kind: "none" };
  const { name, uid } = reference;
  if (trial === undefined) return refused(`there is no Trial "${name}"`);
  if (trial.metadata.uid !== uid) {
    return refused(
      `Trial "${name}" has the UID ${trial.metadata.uid}, but the job names the UID ${uid}`,
    );
  }
  if (job.metadata.name !== trial.metadata.name) {
    return refused(`a job of Trial "${name}" must have the Trial's name`);
  }
  const { kind, apiVersion } = trial.spec?.runSpec ?? {};
  if (kind !== job.kind || apiVersion !== job.apiVersion) {
    const made = `${String(apiVersion ?? "nothing")} ${String(kind ?? "")}`.trim();
    return refused(
      `the runSpec of Trial "${name}" is a ${made}, not a ${job.apiVersion} ${job.kind}`,
    );
  }
  // A cache that is behind may still hold an earlier Trial of this name.
  const rivals = [trial, ...claimants.filter((it) => it.metadata.name !== name)];
  if (rivals.length === 1) return { kind: "holds", trial };
  const names = rivals.map((it) => `"${it.metadata.name}"`).join(" and ");
  return refused(`the Trials ${names} claim the same job`, rivals);
}
