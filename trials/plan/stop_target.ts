/** Target of an early stop: the job, its Trial if it has one, and the grace that annotations give. Pure. */
import { type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import type { LogKey } from "../recording/observation_row.ts";
import { judgeClaim } from "./claim.ts";
import type { PlanInputs } from "./derive_plan.ts";
import { graceOf } from "./grace.ts";

/** What a stop ends, and when. */
export interface DerivedStopTarget {
  /** The key of the Trial's log if the Trial is stopped with the job, else of the job's own. */
  readonly key: LogKey;
  readonly job: JobRef;
  /** The grace of its annotations, in milliseconds; absent without one. */
  readonly graceMs?: number | undefined;
}

/**
 * Derives what is stopped with a job, also if nothing of it is recorded. A Trial whose claim does not hold is
 * left alone. Returns undefined if the Trial is being deleted: its job goes with it.
 */
export function deriveStopTarget(view: PlanInputs): DerivedStopTarget | undefined {
  const { kind, job: object } = view;
  const job = jobRefOf(kind, object);
  const claim = judgeClaim(view);
  const graceMs = graceOf(kind, object, view.trial).ms;
  if (claim.kind !== "holds") {
    const { namespace, name, uid } = job;
    return { key: { kind: "job", namespace, name, uid }, job, graceMs };
  }
  const { namespace = "", name = "", uid = "", deletionTimestamp } = claim.trial.metadata;
  if (deletionTimestamp !== undefined) return undefined;
  return { key: { kind: "trial", namespace, name, uid }, job, graceMs };
}
