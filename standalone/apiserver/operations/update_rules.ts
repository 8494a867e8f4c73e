/** Rules of updates that differ by kind: create on update, required resource versions, and UIDs in patches. */
import { isObject, objectAt, textAt } from "../../../platform/base/json.ts";
import type { Resource } from "../kinds/api_resource.ts";
import type { ApiObject } from "../objects/api_object.ts";
import * as field from "../../../crds/status_cause.ts";
import { invalid } from "../objects/status_error.ts";
import type { Call, Context } from "./context.ts";

/** Kinds that an update creates if they are missing. */
const CREATED_ON_UPDATE = new Set([
  "/endpoints",
  "/events",
  "coordination.k8s.io/leases",
  "rbac.authorization.k8s.io/clusterrolebindings",
  "rbac.authorization.k8s.io/clusterroles",
  "rbac.authorization.k8s.io/rolebindings",
  "rbac.authorization.k8s.io/roles",
]);

/** Says if an update may create the object: it is missing, the client expects none, and may create it. */
export function mayCreate(context: Context, call: Call, body: unknown): boolean {
  const { resource: kind, namespace, name = "", subresource } = call;
  const { group, version, resource } = kind;
  if (subresource !== undefined || !CREATED_ON_UPDATE.has(`${group}/${resource}`)) return false;
  if (context.store.get(kind, namespace, name)) return false;
  const metadata = objectAt(body, "metadata");
  if (textAt(metadata, "uid") || textAt(metadata, "resourceVersion")) return false;
  const attributes = { verb: "create", group, version, resource, namespace, name };
  return context.access.authorizer.authorize(call.user, attributes).allowed;
}

/** Built-in kinds whose updates, like those of custom ones, must name a resource version. */
const VERSIONED = new Set([
  "coordination.k8s.io/leases",
  "apiextensions.k8s.io/customresourcedefinitions",
  "node.k8s.io/runtimeclasses",
  "admissionregistration.k8s.io/mutatingwebhookconfigurations",
  "admissionregistration.k8s.io/validatingwebhookconfigurations",
]);

/** Says if an update must name the resource version that it replaces. */
export function needsVersion({ custom, group, resource }: Resource): boolean {
  return custom || VERSIONED.has(`${group}/${resource}`);
}

/**
 * Checks that a patch does not change the UID. Unlike in an update the UID is not a precondition, and a
 * patch of a custom kind's status ignores it. Throws 422.
 */
export function sameUid(next: unknown, current: ApiObject, { resource, subresource }: Call) {
  const { metadata } = current;
  const uid = textAt(next, "metadata", "uid");
  if (uid === undefined || uid === metadata.uid || !isObject(next)) return next;
  if (resource.custom && subresource === "status") {
    return { ...next, metadata: { ...objectAt(next, "metadata"), uid: metadata.uid } };
  }
  const cause = field.invalid("metadata.uid", uid, "field is immutable");
  throw invalid(resource, metadata.name, [cause]);
}
