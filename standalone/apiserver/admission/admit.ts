/** Admission: what is about to be stored passes the server's own rules and the webhooks. */
import type { Authorizer } from "../access/authorizer.ts";
import type { ObjectReader } from "../storage/store.ts";
import type { AdmissionRequest } from "./admission_request.ts";
import { applyBuiltIn, checkBuiltIn } from "./built_in.ts";
import { type CallHttps, callHttps } from "./https_call.ts";
import type { CallOptions } from "./webhook_call.ts";
import { mutate, validate } from "./webhooks.ts";

/** Options of {@link createAdmission}. */
export interface AdmissionOptions {
  readonly store: ObjectReader;
  /** Decides what writers of roles may grant. */
  readonly authorizer: Authorizer;
  /** Where Services that webhooks name can be reached; without it such webhooks fail. */
  readonly resolveService?: ResolveService;
  /** How webhooks are called; over HTTPS when left out. */
  readonly call?: CallHttps;
}

/** Finds where a Service that a webhook names can be reached. */
export type ResolveService = NonNullable<CallOptions["resolveService"]>;

/**
 * Changes or refuses what is about to be stored; see {@link createAdmission}. `finish` makes of the
 * changed object what will be stored (pruning, defaults, validation); it may throw.
 */
export type Admit = <T>(
  request: AdmissionRequest,
  finish: (changed: unknown) => T,
) => Promise<{ object: T; warnings: string[] }>;

/**
 * A function that admits requests: built-in defaults that need other objects, then the mutating
 * webhooks, `finish`, the built-in refusals and the validating webhooks, which see what `finish`
 * made. It gets the request's own object when nothing changed it. The request's object must have
 * its UID. Throws StatusError when the request is refused.
 */
export function createAdmission(options: AdmissionOptions): Admit {
  const { store, authorizer, resolveService } = options;
  const calls: CallOptions = {
    call: options.call ?? callHttps,
    newUid: () => crypto.randomUUID(),
    ...(resolveService !== undefined && { resolveService }),
  };
  return async (request, finish) => {
    const built = applyBuiltIn(request, store);
    const mutated = await mutate({ ...request, object: built.object }, store, calls);
    const object = finish(mutated.object);
    const admitted = { ...request, object };
    checkBuiltIn(admitted, authorizer);
    const warnings = await validate(admitted, store, calls);
    return { object, warnings: [...built.warnings, ...mutated.warnings, ...warnings] };
  };
}
