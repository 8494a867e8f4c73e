/** Deletion of objects: preconditions, finalizers, propagation, and grace periods of pods. */
import { z } from "zod";
import { compact, numberAt, objectAt, textAt } from "../../../platform/base/json.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { badRequest, conflict, invalidOptions } from "../objects/status_error.ts";
import { KEYS, sameKey } from "../storage/resource_keys.ts";
import type { Call, Context } from "./context.ts";
import { FINALIZERS, namespaceFinalizers } from "./strategy.ts";
import { admissionRequest, existing } from "./writes.ts";

const optionsSchema = z.looseObject({
  propagationPolicy: z.string().nullish(),
  orphanDependents: z.boolean().nullish(),
  gracePeriodSeconds: z.number().int().transform((seconds) => seconds < 0 ? 1 : seconds).nullish(),
  preconditions: z.looseObject({
    uid: z.string().nullish(),
    resourceVersion: z.string().nullish(),
  }).nullish(),
  dryRun: z.array(z.string()).nullish(),
});

/** Options of a deletion. */
export type DeleteOptions = z.infer<typeof optionsSchema>;

/** Result of a deletion. */
export interface Deletion {
  readonly object: ApiObject;
  /** False while the object waits for finalizers, or for its grace period to end. */
  readonly removed: boolean;
}

const POLICIES = ["Foreground", "Background", "Orphan"];

function checked(options: DeleteOptions): DeleteOptions {
  const { propagationPolicy: policy, orphanDependents } = options;
  if (!policy) return options;
  if (!POLICIES.includes(policy)) {
    const known = [...POLICIES, null].map((one) => `"${one ?? "nil"}"`).join(", ");
    const detail = `Unsupported value: "${policy}": supported values: ${known}`;
    throw invalidOptions("DeleteOptions", "propagationPolicy", detail);
  }
  if (orphanDependents !== undefined && orphanDependents !== null) {
    const detail = "orphanDependents and deletionPropagation cannot be both set";
    throw invalidOptions("DeleteOptions", "propagationPolicy", `Invalid value: ${detail}`);
  }
  return options;
}

/** Parses DeleteOptions from the body, or else from the query. Throws 400 and 422. */
export function deleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const grace = query.get("gracePeriodSeconds");
  const fromQuery = compact({
    propagationPolicy: query.get("propagationPolicy") ?? undefined,
    orphanDependents: query.has("orphanDependents")
      ? query.get("orphanDependents") === "true"
      : undefined,
    gracePeriodSeconds: grace === null ? undefined : Number(grace),
  });
  const parsed = optionsSchema.safeParse(body ?? fromQuery);
  if (parsed.success) return checked(parsed.data);
  const issue = parsed.error.issues[0];
  throw badRequest(`invalid DeleteOptions: ${issue?.path.join(".")}: ${issue?.message}`);
}

function checkPreconditions(options: DeleteOptions, { metadata }: ApiObject, call: Call): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  if (uid && uid !== metadata.uid) {
    const cause = `the UID in the precondition (${uid}) does not match the UID in record ` +
      `(${metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict(call.resource, metadata.name, cause);
  }
  if (resourceVersion && resourceVersion !== metadata.resourceVersion) {
    const cause = `the ResourceVersion in the precondition (${resourceVersion}) does not match ` +
      `the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
    throw conflict(call.resource, metadata.name, cause);
  }
}

/** Returns the finalizers after a deletion with the given propagation. */
function finalizersFor(options: DeleteOptions, { metadata }: ApiObject, call: Call): string[] {
  const present = metadata.finalizers ?? [];
  const { propagationPolicy, orphanDependents } = options;
  const own: string[] = [FINALIZERS.foreground, FINALIZERS.orphan];
  const said = propagationPolicy || typeof orphanDependents === "boolean" ||
    present.some((finalizer) => own.includes(finalizer));
  // Orphan is the default of batch/v1 Jobs for compatibility.
  const isJob = sameKey(call.resource, KEYS.jobs);
  const policy = propagationPolicy ?? (orphanDependents || (!said && isJob) ? "Orphan" : undefined);
  if (policy === undefined && typeof orphanDependents !== "boolean") return present;
  const others = present.filter((finalizer) => !own.includes(finalizer));
  if (policy === "Foreground") return [...others, FINALIZERS.foreground];
  return policy === "Orphan" ? [...others, FINALIZERS.orphan] : others;
}

/** Returns the grace period of a pod in seconds; 0 if the pod has no node or has ended. */
function graceOf(options: DeleteOptions, object: ApiObject, call: Call): number {
  if (!sameKey(call.resource, KEYS.pods)) return 0;
  const phase = textAt(object.status, "phase");
  if (!textAt(object.spec, "nodeName") || phase === "Succeeded" || phase === "Failed") return 0;
  const wanted = options.gracePeriodSeconds ??
    numberAt(object, "spec", "terminationGracePeriodSeconds") ?? 30;
  const running = object.metadata.deletionGracePeriodSeconds;
  return running === undefined ? wanted : Math.min(wanted, running);
}

/** Returns the object marked for deletion. */
function marked(
  context: Context,
  call: Call,
  object: ApiObject,
  finalizers: string[],
  grace: number,
): ApiObject {
  const { metadata } = object;
  const first = metadata.deletionTimestamp === undefined;
  const shorter = first || grace < (metadata.deletionGracePeriodSeconds ?? 0);
  const isNamespace = sameKey(call.resource, KEYS.namespaces);
  return {
    ...object,
    ...(isNamespace && { status: { ...objectAt(object, "status"), phase: "Terminating" } }),
    metadata: compact({
      ...metadata,
      finalizers: finalizers.length > 0 ? finalizers : undefined,
      deletionTimestamp: shorter
        ? rfc3339(context.now() + grace * 1000)
        : metadata.deletionTimestamp,
      deletionGracePeriodSeconds: shorter ? grace : metadata.deletionGracePeriodSeconds,
      generation: first && metadata.generation !== undefined
        ? metadata.generation + 1
        : metadata.generation,
    }),
  };
}

/** Deletes an object, or marks it for deletion. Throws 404 and 409. */
export async function deleteObject(
  context: Context,
  call: Call,
  options: DeleteOptions,
): Promise<Deletion> {
  const { store, admit } = context;
  const before = existing(context, call);
  checkPreconditions(options, before, call);
  const admitted = await admit(
    admissionRequest(call, "DELETE", { oldObject: before, options }),
    () => undefined,
  );
  call.warnings.push(...admitted.warnings);
  const object = existing(context, call);
  checkPreconditions(options, object, call);
  const finalizers = finalizersFor(options, object, call);
  const grace = graceOf(options, object, call);
  const { namespace, name } = object.metadata;
  if (finalizers.length === 0 && grace === 0 && namespaceFinalizers(object) === 0) {
    if (!call.dryRun) store.remove(call.resource, namespace, name);
    return { object, removed: true };
  }
  const next = marked(context, call, object, finalizers, grace);
  const unchanged = object.metadata.deletionTimestamp === next.metadata.deletionTimestamp &&
    object.metadata.deletionGracePeriodSeconds === next.metadata.deletionGracePeriodSeconds &&
    finalizers.length === (object.metadata.finalizers?.length ?? 0);
  if (call.dryRun || unchanged) return { object: next, removed: false };
  const storedVersion = store.get(call.resource, namespace, name)?.apiVersion ?? next.apiVersion;
  return {
    object: store.put(call.resource, { ...next, apiVersion: storedVersion }),
    removed: false,
  };
}
