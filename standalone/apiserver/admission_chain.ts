/** The order of admission: built-in defaults, mutating webhooks, the schema, refusals, validating webhooks. */
import { applyBuiltIn, checkBuiltIn } from "./admission/built_in.ts";
import { callHttps } from "./admission/https_call.ts";
import type { CallOptions } from "./admission/webhook_call.ts";
import { mutate, validate } from "./admission/webhooks.ts";
import type { Authorizer } from "./auth/authorizer.ts";
import type { Parts } from "./parts.ts";
import type { ObjectReader } from "./store.ts";

/** Finds where a Service that a webhook names can be reached. */
export type ResolveService = NonNullable<CallOptions["resolveService"]>;

/** Options of {@link createAdmissionChain}. */
export interface AdmissionChainOptions {
  readonly store: ObjectReader;
  readonly authorizer: Authorizer;
  readonly resolveService?: ResolveService;
}

/**
 * A function that admits requests. Validating webhooks see the object as it will be stored: what
 * `finish` (pruning, defaults, validation) makes of it after the mutating ones.
 */
export function createAdmissionChain(options: AdmissionChainOptions): Parts["admit"] {
  const { store, authorizer, resolveService } = options;
  const calls: CallOptions = {
    call: callHttps,
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
