/** Writer of a field of a job by the owner: in the status, or in an annotation where the definition of the kind drops the field. */
import type { AnyJob, JobKind, JobRef, ProgressPlace } from "../crds/job_kind.ts";
import type { KubeClient } from "../platform/kube/client.ts";
import { ignoring, isNotFound } from "../platform/kube/errors.ts";
import { fieldText } from "../crds/job_state.ts";
import { fieldPatch, type KeepsProgress, progressPlace } from "./field_patch.ts";

/** Time that a write may take, in milliseconds. */
const WRITE_MS = 5_000;

/** A field: its name in the status, and the annotation that has its place where there is none. */
export interface OwnedField {
  readonly field: string;
  readonly annotation?: string;
}

/** Options of {@link createFieldWriter}. */
export interface FieldWriterOptions {
  readonly client: Pick<KubeClient, "patch">;
  readonly keepsProgress: KeepsProgress;
  readonly deadlineMs?: number;
}

/** Creates the writer. It rejects with what the API server says; writing again does no harm. */
export function createFieldWriter(
  { client, keepsProgress, deadlineMs = WRITE_MS }: FieldWriterOptions,
) {
  /** The place of a field, beside that of the progress; undefined if jobs of the kind have none. */
  function placeOf(kind: JobKind, { field, annotation }: OwnedField): ProgressPlace | undefined {
    const at = progressPlace(kind, keepsProgress)?.at;
    if (at === "status") return { at, field };
    return at === undefined || annotation === undefined ? undefined : { at, key: annotation };
  }

  /** Writes a value, or takes it away where it is undefined. Resolves with the job; undefined if it is gone. */
  async function put(
    job: JobRef,
    place: ProgressPlace,
    value: object | undefined,
    signal: AbortSignal,
  ): Promise<AnyJob | undefined> {
    const bounds = { signal, deadlineMs };
    const gone = ignoring(isNotFound);
    if (place.at === "annotation") {
      // A job without annotations has no place for a JSON patch to add one to.
      const annotations = { [place.key]: value === undefined ? null : fieldText(job.uid, value) };
      const body = { metadata: { uid: job.uid, annotations } };
      return await client.patch(job.kind, job, { type: "merge", body }, bounds).catch(gone);
    }
    const { operations, ...options } = fieldPatch(place, job.uid, value);
    const change = { type: "json", operations } as const;
    return await client.patch(job.kind, job, change, { ...options, ...bounds }).catch(gone);
  }

  /** Kinds whose definition has dropped what was written. */
  const dropping = new Set<JobKind>();

  return {
    placeOf,
    /** Writes a value, or takes it away where it is undefined, unless the definition is known to drop it. */
    async keep(
      job: JobRef,
      owned: OwnedField,
      value: object | undefined,
      signal: AbortSignal,
    ): Promise<void> {
      const place = placeOf(job.kind, owned);
      if (place === undefined || dropping.has(job.kind)) return;
      const now = await put(job, place, value, signal);
      const isField = place.at === "status" && value !== undefined && now !== undefined;
      if (isField && now.status?.[owned.field] === undefined) dropping.add(job.kind);
    },
  };
}

/** A writer. */
export type FieldWriter = ReturnType<typeof createFieldWriter>;
