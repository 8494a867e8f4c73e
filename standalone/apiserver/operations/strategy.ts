/** Create and update strategy: the fields of an object that the server sets and protects. */
import { compact, objectAt, objectsAt, sameJson } from "../../../platform/base/json.ts";
import { FOREGROUND_FINALIZER } from "../../../crds/names.ts";
import { specStatus } from "../kinds/definitions.ts";
import { apiVersionOf, type Resource } from "../kinds/api_resource.ts";
import type { ApiObject, Metadata, SentObject } from "../objects/api_object.ts";
import * as field from "../../../crds/status_cause.ts";
import { badRequest, conflict, invalid } from "../objects/status_error.ts";
import { KEYS, sameKey } from "../storage/resource_keys.ts";

/** Finalizers that the server itself sets. */
export const FINALIZERS = {
  foreground: FOREGROUND_FINALIZER,
  orphan: "orphan",
  customResources: "customresourcecleanup.apiextensions.k8s.io",
} as const;

/** Label of every namespace with its name. */
const NAMESPACE_LABEL = "kubernetes.io/metadata.name";

/** Metadata that the server assigns to a new object. */
export interface AssignedMetadata {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string;
  /** RFC 3339, in seconds. */
  readonly now: string;
}

/** Checks that a custom object says its kind. Throws 400 and 422. */
function checkCustomKind({ kind, metadata }: SentObject, resource: Resource): void {
  if (!kind) throw badRequest("Object 'Kind' is missing in the body");
  if (kind === resource.kind) return;
  const cause = field.invalid("kind", kind, `must be ${resource.kind}`);
  throw invalid({ group: resource.group, kind }, metadata.name ?? "", [cause]);
}

/** Checks that the body has the kind that the path names. Throws 400, and 422 for custom kinds. */
export function checkKind(sent: SentObject, resource: Resource): void {
  const expected = apiVersionOf(resource);
  if (sent.apiVersion !== undefined && sent.apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${sent.apiVersion}) does not match the expected API version (${expected})`,
    );
  }
  if (resource.custom) return checkCustomKind(sent, resource);
  if (sent.kind !== undefined && sent.kind !== resource.kind) {
    throw badRequest(
      `the kind in the data (${sent.kind}) does not match the expected kind (${resource.kind})`,
    );
  }
}

/** Returns Guaranteed if requests equal limits for cpu and memory everywhere, BestEffort if there are none, else Burstable. */
function qosClass(pod: SentObject): string {
  const containers = [
    ...objectsAt(pod.spec, "containers"),
    ...objectsAt(pod.spec, "initContainers"),
  ];
  const resources = containers.map((container) => ({
    requests: objectAt(container.resources, "requests"),
    limits: objectAt(container.resources, "limits"),
  }));
  const counted = ["cpu", "memory"];
  if (resources.every((r) => counted.every((n) => !(n in r.requests) && !(n in r.limits)))) {
    return "BestEffort";
  }
  const guaranteed = resources.every(({ requests, limits }) =>
    counted.every((n) => n in limits && (!(n in requests) || sameJson(requests[n], limits[n])))
  );
  return guaranteed ? "Guaranteed" : "Burstable";
}

/** Sets the initial fields of a kind, beyond the defaults of its schema. */
const INITIAL_FIELDS: Readonly<
  Record<string, (object: SentObject, assigned: AssignedMetadata) => void>
> = {
  "/pods": (pod) => void (pod.status = { phase: "Pending", qosClass: qosClass(pod) }),
  "/namespaces": (namespace, { name }) => {
    namespace.spec = { finalizers: ["kubernetes"] };
    namespace.status = { phase: "Active" };
    namespace.metadata.labels = { ...namespace.metadata.labels, [NAMESPACE_LABEL]: name };
  },
  "/persistentvolumeclaims": (claim) => void (claim.status = { phase: "Pending" }),
  "/services": (service) => void (service.status = { loadBalancer: {} }),
  "batch/jobs": (job) => void (job.status = {}),
  "apiextensions.k8s.io/customresourcedefinitions": (definition, { now }) => {
    const { metadata } = definition;
    metadata.finalizers = [...new Set([...metadata.finalizers ?? [], FINALIZERS.customResources])];
    definition.status = definitionStatus(definition, now);
  },
};

function definitionStatus(definition: SentObject, now: string) {
  const condition = (type: string, reason: string, message: string) => ({
    type,
    status: "True",
    lastTransitionTime: now,
    reason,
    message,
  });
  return {
    ...specStatus({ spec: definition.spec }),
    conditions: [
      condition("NamesAccepted", "NoConflicts", "no conflicts found"),
      condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ],
  };
}

/** Returns a new object as it is first stored: with the server's metadata, and without the client's status. */
export function newObject(
  sent: SentObject,
  resource: Resource,
  assigned: AssignedMetadata,
): ApiObject {
  const { labels, annotations, finalizers, ownerReferences, generateName } = sent.metadata;
  const object: SentObject = {
    ...sent,
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { labels, annotations, finalizers, ownerReferences, generateName },
  };
  if (resource.status) delete object.status;
  INITIAL_FIELDS[`${resource.group}/${resource.resource}`]?.(object, assigned);
  const metadata: Metadata = compact({
    ...object.metadata,
    name: assigned.name,
    namespace: assigned.namespace,
    uid: assigned.uid,
    resourceVersion: "",
    creationTimestamp: assigned.now,
    generation: resource.generation ? 1 : undefined,
  });
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
}

/** Returns the number of `spec.finalizers` of a namespace, which keep it while it has content; 0 for other kinds. */
export function namespaceFinalizers(object: ApiObject): number {
  const holders = object.kind === "Namespace" ? objectAt(object, "spec").finalizers : undefined;
  return Array.isArray(holders) ? holders.length : 0;
}

/** Returns what `generation` counts changes of: all but metadata and, if it is a subresource, status. */
function wanted(object: SentObject, resource: Resource): unknown {
  const { metadata: _metadata, apiVersion: _version, status, ...rest } = object;
  return resource.status ? rest : { ...rest, status };
}

/** Checks that name, namespace and UID that the client sent are those of the object. Throws 400 and 409. */
function checkIdentity(sent: SentObject, current: ApiObject, resource: Resource): void {
  const { name, namespace, uid } = sent.metadata;
  if (name !== undefined && name !== current.metadata.name) {
    throw badRequest(
      `the name of the object (${name}) does not match the name on the URL (${current.metadata.name})`,
    );
  }
  if (namespace !== undefined && namespace !== (current.metadata.namespace ?? "")) {
    throw badRequest(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
  if (uid !== undefined && uid !== current.metadata.uid) {
    throw conflict(
      resource,
      current.metadata.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`,
    );
  }
}

function checkFinalizers(sent: SentObject, current: ApiObject, resource: Resource): void {
  if (current.metadata.deletionTimestamp === undefined) return;
  const known = current.metadata.finalizers ?? [];
  const added = (sent.metadata.finalizers ?? []).filter((one) => !known.includes(one));
  if (added.length === 0) return;
  const detail = "no new finalizers can be added if the object is being deleted, " +
    `found new finalizers ${JSON.stringify(added)}`;
  const cause = field.forbidden("metadata.finalizers", detail);
  throw invalid(resource, current.metadata.name, [cause]);
}

/** Returns metadata after an update: the fields that the client may write from it, the others from the server. */
function nextMetadata(sent: SentObject, { metadata: current }: ApiObject): Metadata {
  const { labels, annotations, finalizers, ownerReferences } = sent.metadata;
  const own = { ...current, labels, annotations, finalizers, ownerReferences };
  if (finalizers?.length === 0) own.finalizers = undefined;
  if (ownerReferences?.length === 0) own.ownerReferences = undefined;
  return compact(own);
}

/**
 * Returns the object after a client's update of the main resource or of `subresource`, which each write
 * only their own fields. `generation` counts changes of the desired state. Throws 400, 409 and 422.
 */
export function nextObject(
  sent: SentObject,
  current: ApiObject,
  resource: Resource,
  subresource: string | undefined,
): ApiObject {
  checkIdentity(sent, current, resource);
  checkFinalizers(sent, current, resource);
  const head = { apiVersion: apiVersionOf(resource), kind: resource.kind };
  if (subresource === "status") {
    const metadata = resource.custom ? current.metadata : nextMetadata(sent, current);
    return compact({ ...current, ...head, metadata, status: sent.status });
  }
  const metadata = nextMetadata(sent, current);
  const status = resource.status ? current.status : sent.status;
  const next: ApiObject = compact({ ...sent, ...head, metadata, status });
  if (sameKey(resource, KEYS.namespaces) && subresource !== "finalize") {
    next.spec = current.spec;
  }
  if (sameKey(resource, KEYS.customResourceDefinitions)) {
    next.status = { ...objectAt(next, "status"), ...specStatus(next) };
  }
  if (resource.generation && !sameJson(wanted(next, resource), wanted(current, resource))) {
    metadata.generation = (current.metadata.generation ?? 0) + 1;
  }
  return next;
}
