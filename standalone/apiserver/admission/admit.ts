/** Admission: what is about to be stored passes the server's own rules and the webhooks. */
import type { AdmissionRequest } from "../parts.ts";
import type { Authorizer } from "../auth/authorizer.ts";
import type { ObjectReader } from "../store.ts";
import { applyBuiltIn, checkBuiltIn } from "./built_in.ts";
import { type CallHttps, callHttps } from "./https_call.ts";
import type { CallOptions, ServiceAddress } from "./webhook_call.ts";
import { mutate, validate } from "./webhooks.ts";

/** Options of {@link createAdmission}. */
export interface AdmissionOptions {
  readonly store: ObjectReader;
  /** Decides what writers of roles may grant. */
  readonly authorizer: Authorizer;
  /** Where Services that webhooks name can be reached; without it such webhooks fail. */
  readonly resolveService?: CallOptions["resolveService"];
  /** How webhooks are called; over HTTPS when left out. */
  readonly call?: CallHttps;
}

export type { ServiceAddress };

/** Changes or refuses what is about to be stored; see {@link createAdmission}. */
export type Admit = (
  request: AdmissionRequest,
) => Promise<{ object: unknown; warnings: string[] }>;

/**
 * A function that admits requests: built-in defaults that need other objects, then the mutating
 * webhooks, the built-in refusals and the validating webhooks. The object that comes back is the
 * request's own when nothing changed it. The request's object must have its UID. Throws
 * StatusError when the request is refused.
 */
export function createAdmission(options: AdmissionOptions): Admit {
  const { store, authorizer, resolveService } = options;
  const calls: CallOptions = {
    call: options.call ?? callHttps,
    newUid: () => crypto.randomUUID(),
    ...(resolveService !== undefined && { resolveService }),
  };
  return async (request) => {
    const built = applyBuiltIn(request, store);
    const mutated = await mutate({ ...request, object: built.object }, store, calls);
    const admitted = { ...request, object: mutated.object };
    checkBuiltIn(admitted, authorizer);
    const warnings = await validate(admitted, store, calls);
    return {
      object: mutated.object,
      warnings: [...built.warnings, ...mutated.warnings, ...warnings],
    };
  };
}
