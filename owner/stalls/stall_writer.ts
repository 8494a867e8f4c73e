/** Writer of stalls and paces: to the job's status, or of a stall to its annotation where the definition of the kind drops the field. */
import type { AnyJob, JobKind, JobRef } from "../../crds/job_kind.ts";
import { paceOf, stallOf, timeSpentOf } from "../../crds/job_state.ts";
import type { JobPace, JobStall } from "../../crds/job_stall.ts";
import type { JobTimeSpent } from "../../crds/job_time_spent.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import { sameJson } from "../../platform/base/json.ts";
import { createFieldWriter, type FieldWriterOptions } from "../field_writer.ts";

/** What a job shall say. */
export interface StallFields {
  readonly stall: JobStall | undefined;
  /** Undefined: what the job has stays. */
  readonly pace: JobPace | undefined;
  readonly timeSpent?: JobTimeSpent | undefined;
}

const STALL = { field: "stalled", annotation: ANNOTATIONS.stalled };

/** Creates the writer. `write` rejects with what the API server says; writing again does no harm. */
export function createStallWriter(options: FieldWriterOptions) {
  const fields = createFieldWriter(options);

  /** The stall that a job holds at the place where it is written: whatever a tenant writes elsewhere is none. */
  function told(kind: JobKind, job: AnyJob): JobStall | undefined {
    const place = fields.placeOf(kind, STALL);
    if (place === undefined) return undefined;
    return place.at === "status"
      ? stallOf({ ...job, metadata: {} })
      : stallOf({ ...job, status: undefined });
  }

  /** Writes what differs from the job as a cache has it. */
  async function write(
    job: JobRef,
    object: AnyJob,
    { stall, pace, timeSpent }: StallFields,
    signal: AbortSignal,
  ): Promise<void> {
    if (!sameJson(stall, told(job.kind, object))) await fields.keep(job, STALL, stall, signal);
    for (
      const [field, value, known] of [
        ["pace", pace, paceOf(object)],
        ["timeSpent", timeSpent, timeSpentOf(object)],
      ] as const
    ) {
      if (value !== undefined && !sameJson(value, known)) {
        await fields.keep(job, { field }, value, signal);
      }
    }
  }

  return { told, write };
}

/** A writer. */
export type StallWriter = ReturnType<typeof createStallWriter>;
