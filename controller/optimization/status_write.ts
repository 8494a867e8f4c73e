/** Writing of a search's status, and the events that tell of it. */
import { KINDS } from "../../crds/kinds.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import type { OptimizationJob, OptimizationJobStatus } from "../../crds/optimization_job.ts";
import { SEARCH_CONDITIONS } from "../../crds/optimization_names.ts";
import type { TrialRecord } from "../../crds/trial_records.ts";
import { mergePatch } from "../../platform/base/json.ts";
import { asRead } from "../../platform/kit/as_read.ts";
import type { OwnWrites } from "../../platform/kit/own_writes.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { findCondition } from "../../platform/kube/conditions.ts";
import { type EventText, subjectOf } from "../../platform/kube/event_object.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { keyOf, objectKeyOf } from "../../platform/kube/resource.ts";

/** Failures of trials that are told of one search: events of an object are bounded, and its end is to be told. */
const FAILURES_TOLD = 10;

/** Dependencies of the events of searches. */
export interface SearchEvents {
  readonly events: Pick<EventRecorder, "record">;
}

function record({ events }: SearchEvents, job: OptimizationJob, event: EventText): void {
  events.record(subjectOf(KINDS.optimizationJob, job), event);
}

/** Tells of trials that have failed now; of a search with many failures only the first ones. */
export function tellFailures(
  options: SearchEvents,
  job: OptimizationJob,
  { failed, records }: {
    readonly failed: readonly TrialRecord[];
    /** All of the search, those included. */
    readonly records: ReadonlyMap<number, TrialRecord>;
  },
): void {
  const all = [...records.values()].filter(({ state }) => state === "Failed").length;
  const left = Math.max(0, FAILURES_TOLD - (all - failed.length));
  for (const { name, reason, message } of failed.slice(0, left)) {
    const text = `Trial ${name} has failed: ${reason}: ${message}`;
    record(options, job, { type: "Warning", reason: EVENT_REASONS.trialFailed, message: text });
  }
}

/** The conditions whose changes are told, each with the status that is good news. */
const TOLD: readonly (readonly [type: string, good: string])[] = [
  [SEARCH_CONDITIONS.created, "True"],
  [SEARCH_CONDITIONS.complete, "True"],
  [SEARCH_CONDITIONS.failed, "False"],
];

/** Returns the events of what has changed from one status to the other. */
function transitions(old: OptimizationJobStatus, next: OptimizationJobStatus): EventText[] {
  return TOLD.flatMap(([type, good]) => {
    const [before, now] = [old, next].map((it) => findCondition(it.conditions, type));
    if (now === undefined) return [];
    if (before?.status === now.status && before.reason === now.reason) return [];
    const { reason, message, status } = now;
    return [{ type: status === good ? "Normal" : "Warning", reason, message }];
  });
}

/** Writes what has changed of the status, if the search is as it was read, and tells of it. */
export async function writeSearchStatus(
  options: SearchEvents & {
    readonly client: Pick<KubeClient, "patch">;
    readonly searchWrites: OwnWrites<OptimizationJob>;
  },
  job: OptimizationJob,
  next: OptimizationJobStatus,
  signal: AbortSignal,
): Promise<void> {
  const { conditions, result } = job.status ?? {};
  const old = { ...(conditions && { conditions }), ...(result && { result }) };
  const status = mergePatch(old, next);
  if (Object.keys(status).length === 0) return;
  const { client, searchWrites } = options;
  const patch = { type: "merge", body: asRead(job, { status }) } as const;
  await searchWrites.track(
    keyOf(job),
    () =>
      client.patch(KINDS.optimizationJob, objectKeyOf(job), patch, {
        subresource: "status",
        signal,
      }),
  );
  for (const event of transitions(old, next)) record(options, job, event);
}
