/** Creation and update of objects: decoding, defaults, admission, validation, storage. */
import { compact, sameJson } from "../../../platform/base/json.ts";
import { randomSuffix } from "../../../platform/base/random_suffix.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import type { AdmissionRequest } from "../admission/admission_request.ts";
import { definitionDefaults, definitionProblems, isDefinition } from "../kinds/definitions.ts";
import { apiVersionOf, type Resource } from "../kinds/api_resource.ts";
import { type ApiObject, parseSent, type SentObject } from "../objects/api_object.ts";
import * as field from "../../../crds/status_cause.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  invalid,
  MODIFIED,
  notFound,
  StatusError,
} from "../objects/status_error.ts";
import { KEYS } from "../storage/resource_keys.ts";
import { asServed, type Call, type Context, inVersion } from "./context.ts";
import { checkKind, namespaceFinalizers, newObject, nextObject } from "./strategy.ts";
import { needsVersion } from "./update_rules.ts";

/** Attempts of an update without a resource version when others write the object meanwhile. */
const CONFLICT_RETRIES = 5;
/** Longest prefix of a generated name. */
const GENERATED_PREFIX_MAX = 58;

/** Returns a name of a prefix and a random suffix. */
function generatedName(prefix: string): string {
  return prefix.slice(0, GENERATED_PREFIX_MAX) + randomSuffix(Math.random);
}

/** Returns the admission request of a call. */
export function admissionRequest(
  call: Call,
  operation: AdmissionRequest["operation"],
  objects: { object?: unknown; oldObject?: unknown; options?: unknown },
): AdmissionRequest {
  const { group, version, kind, resource } = call.resource;
  const names = { kind: { group, version, kind }, resource: { group, version, resource } };
  return { ...call, ...names, operation, ...objects };
}

/** Decodes a body: handles unknown fields as `fieldValidation` says, drops them, and fills in defaults. */
function decode(context: Context, call: Call, body: unknown): SentObject {
  const sent = parseSent(body);
  checkKind(sent, call.resource);
  const schema = context.registry.schemaOf(call.resource);
  if (!schema) return sent;
  const whole = { ...sent, apiVersion: apiVersionOf(call.resource), kind: call.resource.kind };
  if (call.fieldValidation !== "Ignore") {
    const problems = [
      ...(call.duplicateFields?.() ?? []).map((path) => `duplicate field "${path}"`),
      ...schema.unknownFields(whole).map((path) => `unknown field "${path}"`),
    ];
    if (call.fieldValidation === "Strict" && problems.length > 0) {
      const { kind } = call.resource;
      throw badRequest(
        `${kind} in version "${call.resource.version}" cannot be handled as a ${kind}: ` +
          `strict decoding error: ${problems.join(", ")}`,
      );
    }
    call.warnings.push(...problems);
  }
  const filled = parseSent(schema.applyDefaults(schema.prune(whole)));
  return isDefinition(call.resource) ? definitionDefaults(filled) : filled;
}

/** Returns the object after admission, with the server's own metadata restored. */
function readmitted(context: Context, object: unknown, before: ApiObject, resource: Resource) {
  if (object === before) return before;
  const schema = context.registry.schemaOf(resource);
  const sent = parseSent(schema ? schema.applyDefaults(schema.prune(object)) : object);
  const { labels, annotations, finalizers, ownerReferences } = sent.metadata;
  const own = { ...before.metadata, labels, annotations, finalizers, ownerReferences };
  return { ...sent, apiVersion: before.apiVersion, kind: before.kind, metadata: compact(own) };
}

function validate(context: Context, resource: Resource, object: ApiObject, old?: ApiObject): void {
  const causes = [
    ...context.registry.schemaOf(resource)?.validate(object, old) ?? [],
    ...(isDefinition(resource) ? definitionProblems(object) : []),
  ];
  // Built-in kinds with fields of a wrong type are refused like Go refuses to decode them.
  const undecodable = causes.find(({ reason }) => reason === "FieldValueTypeInvalid");
  if (!resource.custom && undecodable) {
    const { kind, version } = resource;
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: ${undecodable.field}: ` +
        undecodable.message,
    );
  }
  if (causes.length > 0) throw invalid(resource, object.metadata.name, causes);
}

function checkNamespace({ store }: Context, { resource, namespace }: Call, name: string): void {
  if (!resource.namespaced || namespace === undefined) return;
  const found = store.get(KEYS.namespaces, undefined, namespace);
  if (!found) throw notFound(KEYS.namespaces, namespace);
  if (found.metadata.deletionTimestamp !== undefined) {
    const cause = `unable to create new content in namespace ${namespace} because it is being ` +
      "terminated";
    throw forbidden(resource, name, cause, {
      causes: [{
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      }],
    });
  }
}

function nameOf(sent: SentObject, call: Call): string {
  const { name, generateName, namespace, resourceVersion } = sent.metadata;
  if (namespace !== undefined && namespace !== "" && namespace !== call.namespace) {
    throw badRequest(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== "") {
    // The real server returns this code too.
    throw new StatusError(
      500,
      "InternalError",
      "resourceVersion should not be set on objects to be created",
    );
  }
  if (name) return name;
  if (generateName) return generatedName(generateName);
  throw invalid(call.resource, "", [
    field.required("metadata.name", "name or generateName is required"),
  ]);
}

/** Stores an object in the version in which its kind is stored, and returns it in that of the resource. */
function save({ store }: Context, resource: Resource, object: ApiObject): ApiObject {
  const version = { ...resource, version: resource.storageVersion };
  return inVersion(store.put(resource, inVersion(object, version)), resource);
}

/** Creates an object and returns it as stored. */
export async function createObject(
  context: Context,
  call: Call,
  body: unknown,
): Promise<ApiObject> {
  const { store, admit } = context;
  const sent = decode(context, call, body);
  const name = nameOf(sent, call);
  const { resource } = call;
  checkNamespace(context, call, name);
  const now = rfc3339(context.now());
  const namespace = resource.namespaced ? call.namespace : undefined;
  const created = newObject(sent, resource, { name, namespace, uid: crypto.randomUUID(), now });
  const request = admissionRequest({ ...call, name }, "CREATE", { object: created });
  const { object, warnings } = await admit(request, (changed) => {
    const finished = readmitted(context, changed, created, resource);
    validate(context, resource, finished);
    return finished;
  });
  call.warnings.push(...warnings);
  checkNamespace(context, call, name);
  if (store.get(resource, namespace, name)) throw alreadyExists(resource, name);
  if (call.dryRun) return object;
  return save(context, resource, object);
}

/** Says if an update completes a pending deletion. */
function completesDeletion(object: ApiObject): boolean {
  const { metadata } = object;
  return namespaceFinalizers(object) === 0 && metadata.deletionTimestamp !== undefined &&
    !metadata.finalizers?.length &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0;
}

/** Returns the object that a call names. Throws 404. */
export function existing(context: Context, { resource, namespace, name = "" }: Call): ApiObject {
  const found = context.store.get(resource, resource.namespaced ? namespace : undefined, name);
  if (!found) throw notFound(resource, name);
  return asServed(context, found, resource);
}

function checkVersion(sent: SentObject, current: ApiObject, resource: Resource): void {
  const { resourceVersion } = sent.metadata;
  if (resourceVersion === undefined || resourceVersion === "") {
    if (!needsVersion(resource)) return;
    throw invalid(resource, current.metadata.name, [
      field.invalid("metadata.resourceVersion", 0, "must be specified for an update"),
    ]);
  }
  if (resourceVersion !== current.metadata.resourceVersion) {
    throw conflict(resource, current.metadata.name, MODIFIED);
  }
}

/** Attempts an update once. Returns undefined if the object was written meanwhile. */
async function tryUpdate(
  context: Context,
  call: Call,
  change: (current: ApiObject) => unknown,
): Promise<ApiObject | undefined> {
  const { store, admit } = context;
  const { resource, subresource } = call;
  const current = existing(context, call);
  const sent = decode(context, call, change(current));
  checkVersion(sent, current, resource);
  const next = nextObject(sent, current, resource, subresource);
  if (sameJson(next, current)) return current;
  const request = admissionRequest(call, "UPDATE", { object: next, oldObject: current });
  const { object, warnings } = await admit(request, (changed) => {
    const finished = readmitted(context, changed, next, resource);
    validate(context, resource, finished, current);
    return finished;
  });
  const after = existing(context, call);
  if (after.metadata.resourceVersion !== current.metadata.resourceVersion) return undefined;
  call.warnings.push(...warnings);
  if (call.dryRun || sameJson(object, current)) return object;
  const { namespace, name } = object.metadata;
  if (completesDeletion(object)) {
    store.remove(resource, namespace, name);
    return object;
  }
  return save(context, resource, object);
}

/**
 * Updates the main resource, or its `status`, to what `change` makes of the current object. Writes
 * nothing if nothing changes. Throws 404, 409 and 422.
 */
export async function updateObject(
  context: Context,
  call: Call,
  change: (current: ApiObject) => unknown,
): Promise<ApiObject> {
  for (let attempt = 0; attempt < CONFLICT_RETRIES; attempt++) {
    const updated = await tryUpdate(context, call, change);
    if (updated) return updated;
  }
  throw conflict(call.resource, call.name ?? "", MODIFIED);
}
