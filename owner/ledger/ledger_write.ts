/** A write of the ledger: how it may end, and what is logged of that. */
import type { JobRef } from "../../crds/job_kind.ts";
import { getLogger } from "@logtape/logtape";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import type { Clock } from "../../platform/base/clock.ts";

/** How a write ended. `gone`: the job is no more, or another one of its name is there. */
export type WriteOutcome =
  | { readonly result: "written" | "gone" }
  | { readonly result: "invalid"; readonly problem: string }
  | {
    readonly result: "conflict" | "error";
    readonly problem: string;
    /** Time for which the API server wants no further call. */
    readonly retryAfterMs?: number;
  };

/**
 * Writes a job's status, preconditioned by its UID. Has a deadline of its own, does not retry, and
 * does not throw.
 */
export type WriteStatus = (
  job: JobRef,
  status: TrainerStatus,
  signal?: AbortSignal,
) => Promise<WriteOutcome>;

/** Writes count as healthy again when none failed for this time, in milliseconds. */
const WELL_AFTER_MS = 10_000;

/** Says once that writes fail, and once that they have been well for a while. */
export function createWriteLog(clock: Clock): (job: JobRef, outcome: WriteOutcome) => void {
  const log = getLogger(["milepost", "status"]);
  let failing = false;
  let failedAtMs = -Infinity;
  return ({ namespace, name }, outcome) => {
    const nowMs = clock.monotonic();
    if (outcome.result === "invalid") {
      log.warn("the API server refused a job's progress", { namespace, name, ...outcome });
    } else if (outcome.result === "error") {
      failedAtMs = nowMs;
      if (failing) return;
      failing = true;
      log.warn("cannot write progress; retrying", { namespace, name, ...outcome });
    } else if (failing && outcome.result === "written" && nowMs - failedAtMs > WELL_AFTER_MS) {
      failing = false;
      log.info("progress can be written again", { namespace, name });
    }
  };
}
