/** Where updates differ by kind: those that create, those that need a version, what patches keep. */
import { isObject, objectAt, textAt } from "../../../crds/json.ts";
import type { Resource } from "../kinds/resource.ts";
import type { ApiObject } from "../objects/api_object.ts";
import * as field from "../objects/field_errors.ts";
import { invalid } from "../objects/status_error.ts";
import type { Call, Context } from "./context.ts";

/** Kinds that an update makes where they are missing. */
const CREATED_ON_UPDATE = new Set([
  "/endpoints",
  "/events",
  "coordination.k8s.io/leases",
  "rbac.authorization.k8s.io/clusterrolebindings",
  "rbac.authorization.k8s.io/clusterroles",
  "rbac.authorization.k8s.io/rolebindings",
  "rbac.authorization.k8s.io/roles",
]);

/** Says whether an update is to create: nothing is there, and the sender expects nothing and may. */
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

/** Built-in kinds that, like custom ones, are never overwritten unseen. */
const VERSIONED = new Set([
  "coordination.k8s.io/leases",
  "apiextensions.k8s.io/customresourcedefinitions",
  "node.k8s.io/runtimeclasses",
  "admissionregistration.k8s.io/mutatingwebhookconfigurations",
  "admissionregistration.k8s.io/validatingwebhookconfigurations",
]);

/** Says whether an update must name the version that it replaces. */
export function needsVersion({ custom, group, resource }: Resource): boolean {
  return custom || VERSIONED.has(`${group}/${resource}`);
}

/**
 * A patch does not touch the UID: unlike that of an update it is no precondition, and a patch of a
 * custom kind's status does not even look at it. Throws 422.
 */
export function sameUid(next: unknown, current: ApiObject, { resource, subresource }: Call) {
  const { kind, apiVersion, metadata } = current;
  const uid = textAt(next, "metadata", "uid");
  if (uid === undefined || uid === metadata.uid || !isObject(next)) return next;
  if (resource.custom && subresource === "status") {
    return { ...next, metadata: { ...objectAt(next, "metadata"), uid: metadata.uid } };
  }
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] ?? "" : "";
  const cause = field.invalid("metadata.uid", uid, "field is immutable");
  throw invalid({ group, kind }, metadata.name, [cause]);
}
