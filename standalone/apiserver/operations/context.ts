/** Context of operations: the parts of the server, and the call that an operation serves. */
import { isObject, sameJson } from "../../../platform/base/json.ts";
import type { Access } from "../access/access.ts";
import { serviceAccountUser } from "../access/user.ts";
import type { AdmissionRequest } from "../admission/admission_request.ts";
import type { Admit } from "../admission/admission.ts";
import type { Registry } from "../kinds/registry.ts";
import { apiVersionOf, type Resource } from "../kinds/api_resource.ts";
import type { ApiObject } from "../objects/api_object.ts";
import type { Store } from "../storage/sqlite_store.ts";
import type { FindGonePod, PodLogs } from "./pod_logs.ts";

/** Parts of the server that operations use. */
export interface Context {
  readonly store: Store;
  readonly registry: Registry;
  readonly access: Access;
  readonly admit: Admit;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly podLogs?: PodLogs;
  readonly gonePod?: FindGonePod;
  /** Says to people where a pod is on this machine, by its UID. */
  readonly placeOfPod?: (uid: string) => string;
  /** PEM of the CA; every namespace has it in the ConfigMap `kube-root-ca.crt`. */
  readonly caCertificate: string;
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
}

/** Call of an operation: the object, the user and the options. */
export interface Call
  extends Pick<AdmissionRequest, "subresource" | "namespace" | "name" | "user" | "dryRun"> {
  readonly resource: Resource;
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  /** Paths of the fields that the client sent more than once. */
  readonly duplicateFields?: () => string[];
  /** Collects warnings to the client. */
  readonly warnings: string[];
}

/** Returns a call of one of the server's own controllers. */
export function systemCall(
  controller: string,
  resource: Resource,
  { namespace, name }: { readonly namespace?: string; readonly name: string },
): Call {
  const account = serviceAccountUser("kube-system", controller);
  return {
    resource,
    namespace,
    name,
    user: { ...account, groups: [...account.groups, "system:masters"] },
    dryRun: false,
    fieldValidation: "Ignore",
    warnings: [],
  };
}

/** Cache of served objects, by stored object. */
const served = new WeakMap<ApiObject, { schema: unknown; version: string; object: ApiObject }>();

/**
 * Returns a stored object as its kind serves it: in the version of the resource, and for custom kinds
 * with the defaults that were added to their schema since. Returns the stored object itself if nothing differs.
 */
export function asServed({ registry }: Context, stored: ApiObject, resource: Resource): ApiObject {
  const object = inVersion(stored, resource);
  const schema = resource.custom ? registry.schemaOf(resource) : undefined;
  if (schema === undefined) return object;
  const known = served.get(stored);
  if (known?.schema === schema && known.version === resource.version) return known.object;
  const filled = schema.applyDefaults(object);
  const { metadata, apiVersion, kind } = object;
  const now = isObject(filled) && !sameJson(filled, object)
    ? { ...filled, apiVersion, kind, metadata }
    : object;
  served.set(stored, { schema, version: resource.version, object: now });
  return now;
}

/** Returns a stored object in one version of its kind. */
export function inVersion(object: ApiObject, resource: Resource): ApiObject {
  const apiVersion = apiVersionOf(resource);
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}
