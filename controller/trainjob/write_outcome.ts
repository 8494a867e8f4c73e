/** Outcome of the writes of a reconciliation: what is wrong, and what is tried again. */
import { EVENT_REASONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { isStale, KubeError, messageOf } from "../../platform/kube/errors.ts";
import { isRefusal, NotServedError } from "./act.ts";
import { CHILD_RETRY_MS } from "./children.ts";
import { type JobEventOptions, recordEvent } from "./job_events.ts";
import { shorten } from "../shorten.ts";
import type { Problem } from "./status.ts";

/** What went wrong; empty if nothing did. */
export interface Outcome {
  readonly problem?: Problem;
  /** Told after the status is written. */
  readonly error?: unknown;
}

/** Records that the children are not as they shall be. */
export function warn(
  options: Pick<JobEventOptions, "events">,
  trainJob: TrainJob,
  text: string,
): void {
  const message = `TrainJob resources reconciliation failed: ${shorten(text)}`;
  const reason = EVENT_REASONS.resourcesCreationFailed;
  recordEvent(options, trainJob, { type: "Warning", reason, message });
}

/** Returns what the error means for the rest of the pass. Throws it if it comes of outdated objects. */
export function afterError(
  options: Pick<JobEventOptions, "events">,
  trainJob: TrainJob,
  error: unknown,
): Outcome {
  if (isStale(error)) throw error;
  if (error instanceof NotServedError) {
    // Nothing tells when the kind is served again.
    const { message } = error;
    return { problem: { message, unsupported: false, retryMs: CHILD_RETRY_MS } };
  }
  if (isRefusal(error)) {
    return { problem: { message: messageOf(error), unsupported: false }, error };
  }
  if (error instanceof KubeError) warn(options, trainJob, messageOf(error));
  return { problem: "unknown", error };
}

/** Returns both as one: the first error, and the first problem that is known. */
export function joined(first: Outcome, second: Outcome): Outcome {
  const problems = [first.problem, second.problem];
  return {
    problem: problems.find((it) => typeof it === "object") ?? first.problem ?? second.problem,
    error: first.error ?? second.error,
  };
}
