/** Writer of a field of a job by the owner: in the status, or in an annotation where the definition of the kind drops the field. */
import type { AnyJob, JobKind, JobRef, ProgressPlace } from "../crds/job_kind.ts";
import type { KubeClient } from "../platform/kube/client.ts";
import { ignoring, isNotFound } from "../platform/kube/errors.ts";
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
  async function put(job: JobRef, place: ProgressPlace, value: unknown, signal: AbortSignal) {
    const bounds = { signal, deadlineMs };
    const gone = ignoring(isNotFound);
    if (place.at === "annotation") {
      // A job without annotations has no place for a JSON patch to add one to.
      const annotations = { [place.key]: value === undefined ? null : JSON.stringify(value) };
      const body = { metadata: { uid: job.uid, annotations } };
      return await client.patch(job.kind, job, { type: "merge", body }, bounds).catch(gone);
    }
    const { operations, ...options } = fieldPatch(place, job.uid, value);
    const change = { type: "json", operations } as const;
    return await client.patch(job.kind, job, change, { ...options, ...bounds }).catch(gone);
  }

  const dropping = new Set<JobKind>();

  return {
    placeOf,
    put,
    /** Writes a value to the status, and where the definition drops it there, to the annotation. */
    async keep(job: JobRef, owned: OwnedField, value: unknown, signal: AbortSignal): Promise<void> {
      const place = placeOf(job.kind, owned);
      if (place === undefined) return;
      const { field, annotation } = owned;
      if (place.at === "annotation" || annotation === undefined || !dropping.has(job.kind)) {
        const now: AnyJob | undefined = await put(job, place, value, signal);
        if (now === undefined || place.at === "annotation") return;
        if (annotation === undefined || now.status?.[field] !== undefined) return;
        dropping.add(job.kind);
      }
      await put(job, { at: "annotation", key: annotation }, value, signal);
    },
  };
}

/** A writer. */
export type FieldWriter = ReturnType<typeof createFieldWriter>;
