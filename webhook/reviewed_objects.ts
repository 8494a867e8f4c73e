/** Objects of an admission request, and the outcome of a verdict about them. Pure. */
import type { z } from "zod";
import {
  type AdmissionOutcome,
  type AdmissionRequest,
  refuse,
  refuseShape,
} from "./admission_review.ts";
import type { Verdict } from "./runtime_validation.ts";

/** The outcome that changes nothing. */
export const ALLOWED: AdmissionOutcome = { allowed: true };

/** Returns the outcome of a verdict. */
export function outcomeOf({ problems, warnings }: Verdict): AdmissionOutcome {
  return problems.length > 0 ? refuse(problems, warnings) : { allowed: true, warnings };
}

/** Reads the new object and, for an update, the old; an old one that is broken counts as none. */
export function readObjects<T>(
  request: AdmissionRequest,
  schema: z.ZodType<T>,
): { ok: true; object: T; old?: T } | { ok: false; outcome: AdmissionOutcome } {
  const object = schema.safeParse(request.object);
  if (!object.success) return { ok: false, outcome: refuseShape(request.kind.kind, object.error) };
  if (request.operation !== "UPDATE") return { ok: true, object: object.data };
  const old = schema.safeParse(request.oldObject);
  return { ok: true, object: object.data, old: old.success ? old.data : undefined };
}

/** Reports whether the request creates or changes an object. */
export function isJudged(request: AdmissionRequest): boolean {
  return request.operation === "CREATE" || request.operation === "UPDATE";
}
