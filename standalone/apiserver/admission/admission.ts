/** Admission chain: built-in admission and webhooks. */
import type { Authorizer } from "../access/authorizer.ts";
import type { ObjectReader } from "../storage/store.ts";
import type { AdmissionRequest } from "./admission_request.ts";
import { applyBuiltIn, checkBuiltIn } from "./built_in_admission.ts";
import type { CallHttps } from "./https_calls.ts";
import { mutate, validate } from "./webhooks.ts";

/** Options of {@link createAdmission}. */
export interface AdmissionOptions {
  readonly store: ObjectReader;
  /** Decides which permissions the writer of a role may grant. */
  readonly authorizer: Authorizer;
  /** Calls webhooks. */
  readonly call: CallHttps;
}

/**
 * Changes or refuses an object before it is stored; see {@link createAdmission}. `finish` turns the
 * changed object into the one to store (pruning, defaults, validation); it may throw.
 */
export type Admit = <T>(
  request: AdmissionRequest,
  finish: (changed: unknown) => T,
) => Promise<{ object: T; warnings: string[] }>;

/**
 * Creates a function that admits requests: built-in defaults that depend on other objects, then the
 * mutating webhooks, `finish`, the built-in checks and the validating webhooks, which see the result
 * of `finish`. `finish` receives the request's own object if nothing changed it. The request's object
 * must have its UID. The function throws a StatusError if the request is refused.
 */
export function createAdmission(options: AdmissionOptions): Admit {
  const { store, authorizer, call } = options;
  return async (request, finish) => {
    const built = applyBuiltIn(request, store);
    const mutated = await mutate({ ...request, object: built.object }, store, call);
    const object = finish(mutated.object);
    const admitted = { ...request, object };
    checkBuiltIn(admitted, authorizer);
    const warnings = await validate(admitted, store, call);
    return { object, warnings: [...built.warnings, ...mutated.warnings, ...warnings] };
  };
}
