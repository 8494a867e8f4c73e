/** Outcome of the writes of a reconciliation: what is wrong, and what is tried again. */
import { EVENT_REASONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { KubeError, messageOf } from "../../platform/kube/errors.ts";
import { isRefusal } from "./act.ts";
import { NotServedError } from "./child_caches.ts";
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

/** Returns the warning that the children are not as they shall be. */
export const resourcesWarning = (text: string) => ({
  type: "Warning" as const,
  reason: EVENT_REASONS.resourcesCreationFailed,
  message: `TrainJob resources reconciliation failed: ${shorten(text)}`,
});

/** Returns what an error means, and tells of one that says nothing about the children. */
function meaningOf(
  options: Pick<JobEventOptions, "events">,
  trainJob: TrainJob,
  error: unknown,
): Outcome {
  if (error instanceof NotServedError) {
    // Nothing tells when the kind is served again.
    const { message } = error;
    return { problem: { message, unsupported: false, retryMs: CHILD_RETRY_MS } };
  }
  if (isRefusal(error)) {
    return { problem: { message: messageOf(error), unsupported: false }, error };
  }
  if (error instanceof KubeError) {
    recordEvent(options, trainJob, resourcesWarning(messageOf(error)));
  }
  return { problem: "unknown", error };
}

/** Returns the outcome of a pass with these errors beside what else was found: the first error, and the first problem that is known. */
export function outcomeOf(
  options: Pick<JobEventOptions, "events">,
  trainJob: TrainJob,
  { errors, found = {} }: { readonly errors: readonly unknown[]; readonly found?: Outcome },
): Outcome {
  const all = [...errors.map((error) => meaningOf(options, trainJob, error)), found];
  const problems = all.flatMap(({ problem }) => problem ?? []);
  return {
    problem: problems.find((it) => typeof it === "object") ?? problems[0],
    error: all.find(({ error }) => error !== undefined)?.error,
  };
}
