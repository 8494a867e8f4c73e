/** JSON patch of a field that the owner writes to a job: it holds for one incarnation of the job only. Pure. */
import type { JobKind, ProgressPlace } from "../crds/job_kind.ts";
import { comeAgain } from "../platform/http/replicas/owner_router.ts";
import type { JsonPatchOperation } from "../platform/kube/connection/request.ts";

/** A patch: its operations, and its subresource. */
export interface FieldPatch {
  readonly operations: JsonPatchOperation[];
  readonly subresource?: "status";
}

/** Says whether the definition of a kind keeps the fields that Milepost adds to the status. */
export type KeepsProgress = (kind: JobKind) => boolean;

/** Time after which clients may try again what somebody has to change the cluster for, in milliseconds. */
const DROPPED_RETRY_MS = 60_000;

/** Returns the answer for what the definition of the kind does not keep. */
export function droppedField({ kind, progress }: JobKind, field: string) {
  const isPatched = progress?.at === "status" && progress.orAnnotation !== undefined;
  const reason = `the definition of ${kind} in this cluster drops ${field}: ` +
    (isPatched
      ? "`milepost crds --v1 --patch` prints what adds the field"
      : "install the one that comes with Milepost");
  return comeAgain(reason, DROPPED_RETRY_MS);
}

/** A key as one step of a JSON pointer (RFC 6901). */
const pointerStep = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");

/** The place of a job's progress under the definition of its kind; undefined if it has none. */
export function progressPlace(kind: JobKind, keeps: KeepsProgress): ProgressPlace | undefined {
  const { progress } = kind;
  if (progress?.at !== "status" || progress.orAnnotation === undefined || keeps(kind)) {
    return progress;
  }
  return { at: "annotation", key: progress.orAnnotation };
}

/**
 * Returns the JSON patch that replaces a whole field of a job, or removes it where the value is undefined, which an API
 * server refuses if it is not there. It tests the UID itself, since an API server ignores the metadata in a patch of a custom resource's
 * status: it applies a merge patch that carries another job's UID all the same.
 */
export function fieldPatch(place: ProgressPlace, uid: string, value: unknown): FieldPatch {
  const test: JsonPatchOperation = { op: "test", path: "/metadata/uid", value: uid };
  const path = place.at === "status"
    ? `/status/${pointerStep(place.field)}`
    : `/metadata/annotations/${pointerStep(place.key)}`;
  const written = place.at === "status" ? value : JSON.stringify(value);
  const change: JsonPatchOperation = value === undefined
    ? { op: "remove", path }
    : { op: "add", path, value: written };
  const operations = [test, change];
  return place.at === "status" ? { operations, subresource: "status" } : { operations };
}
