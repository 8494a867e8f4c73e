/** Objects of an admission request, and the outcome of a verdict about them. Pure. */
import type { z } from "zod";
import {
  type AdmissionHandler,
  type AdmissionOutcome,
  type AdmissionRequest,
  refuse,
  refuseShape,
  type ReviewContext,
} from "./admission_review.ts";
import type { Verdict } from "./runtime_validation.ts";

/** The outcome that changes nothing. */
export const ALLOWED: AdmissionOutcome = { allowed: true };

/** Returns the outcome of a verdict. */
export function outcomeOf({ problems, warnings }: Verdict): AdmissionOutcome {
  return problems.length > 0 ? refuse(problems, warnings) : { allowed: true, warnings };
}

/** Decides about an object that is created or changed; `old` is what it was, if that was not broken. */
export type ObjectHandler<T> = (
  object: T,
  old: T | undefined,
  review: { readonly request: AdmissionRequest; readonly context: ReviewContext },
) => ReturnType<AdmissionHandler>;

/**
 * Returns the handler of requests that create or change an object of that schema; any other request passes. `broken`
 * decides about an object without the shape, which is refused by default.
 */
export function ofObjects<T>(
  schema: z.ZodType<T>,
  handle: ObjectHandler<T>,
  broken = ({ kind }: AdmissionRequest, error: z.ZodError) => refuseShape(kind.kind, error),
): AdmissionHandler {
  return (request, context) => {
    const { operation } = request;
    if (operation !== "CREATE" && operation !== "UPDATE") return ALLOWED;
    const object = schema.safeParse(request.object);
    if (!object.success) return broken(request, object.error);
    const old = operation === "UPDATE" ? schema.safeParse(request.oldObject).data : undefined;
    return handle(object.data, old, { request, context });
  };
}
