/** Writer of stalls and paces: to the job's status, or of a stall to its annotation where the definition of the kind drops the field. */
import type { AnyJob, JobKind, JobRef, ProgressPlace } from "../../crds/job_kind.ts";
import { paceOf, stallOf, timeSpentOf } from "../../crds/job_state.ts";
import type { JobPace, JobStall } from "../../crds/job_stall.ts";
import type { JobTimeSpent } from "../../crds/job_time_spent.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import { sameJson } from "../../platform/base/json.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { ignoring, isNotFound } from "../../platform/kube/errors.ts";
import { fieldPatch, type KeepsProgress, progressPlace } from "../field_patch.ts";

/** Time that a write may take, in milliseconds. */
const WRITE_MS = 5_000;

/** What a job shall say. */
export interface StallFields {
  readonly stall: JobStall | undefined;
  /** Undefined: what the job has stays. */
  readonly pace: JobPace | undefined;
  readonly timeSpent?: JobTimeSpent | undefined;
}

/** The place of a stall, beside that of the progress. */
function stallPlace(place: ProgressPlace): ProgressPlace {
  if (place.at === "status") return { at: "status", field: "stalled" };
  return { at: "annotation", key: ANNOTATIONS.stalled };
}

/** Creates the writer. `write` rejects with what the API server says; writing again does no harm. */
export function createStallWriter(
  { client, keepsProgress, deadlineMs = WRITE_MS }: {
    readonly client: Pick<KubeClient, "patch">;
    readonly keepsProgress: KeepsProgress;
    readonly deadlineMs?: number;
  },
) {
  /** The stall that a job holds at the place where it is written: whatever a tenant writes elsewhere is none. */
  function told(kind: JobKind, { metadata, status }: AnyJob): JobStall | undefined {
    const place = progressPlace(kind, keepsProgress);
    if (place === undefined) return undefined;
    const at = stallPlace(place);
    return at.at === "status"
      ? stallOf({ metadata: {}, status })
      : stallOf({ metadata, status: undefined });
  }

  /** Kinds whose definition has dropped what was written. */
  const dropping = new Set<JobKind>();

  async function patch(job: JobRef, place: ProgressPlace, value: unknown, signal: AbortSignal) {
    const bounds = { signal, deadlineMs };
    if (place.at === "annotation") {
      // A job without annotations has no place for a JSON patch to add one to.
      const annotations = { [place.key]: value === undefined ? null : JSON.stringify(value) };
      const body = { metadata: { uid: job.uid, annotations } };
      return await client.patch(job.kind, job, { type: "merge", body }, bounds);
    }
    const { operations, ...options } = fieldPatch(place, job.uid, value);
    const change = { type: "json", operations } as const;
    return await client.patch(job.kind, job, change, { ...options, ...bounds });
  }

  /** Writes what differs from the job as a cache has it. */
  async function write(
    job: JobRef,
    object: AnyJob,
    { stall, pace, timeSpent }: StallFields,
    signal: AbortSignal,
  ): Promise<void> {
    const place = progressPlace(job.kind, keepsProgress);
    if (place === undefined || dropping.has(job.kind)) return;
    const stallIsNew = !sameJson(stall, told(job.kind, object));
    const gone = ignoring(isNotFound);
    if (stallIsNew) {
      const now = await patch(job, stallPlace(place), stall, signal).catch(gone);
      if (now !== undefined && stall !== undefined && told(job.kind, now) === undefined) {
        dropping.add(job.kind);
      }
    }
    const parts = [["pace", pace, paceOf], ["timeSpent", timeSpent, timeSpentOf]] as const;
    for (const [field, value, read] of place.at === "status" ? parts : []) {
      if (value === undefined || dropping.has(job.kind) || sameJson(value, read(object))) continue;
      const now = await patch(job, { at: "status", field }, value, signal).catch(gone);
      if (now !== undefined && read(now) === undefined) dropping.add(job.kind);
    }
  }

  return { told, write };
}

/** A writer. */
export type StallWriter = ReturnType<typeof createStallWriter>;
