/** Requests as values: paths, queries and bodies of the Kubernetes API. Pure. */
import { apiVersionOf, type Kind, type KubeObject, type ObjectKey } from "../resource.ts";

/** One operation of a JSON patch (RFC 6902). */
export type JsonPatchOperation =
  | { op: "add" | "replace" | "test"; path: string; value: unknown }
  | { op: "remove"; path: string }
  | { op: "move" | "copy"; from: string; path: string };

/** A change of an object: RFC 7386 merge, RFC 6902 operations, or Kubernetes' strategic merge. */
export type Patch =
  | { type: "merge"; body: unknown }
  | { type: "strategic"; body: unknown }
  | { type: "json"; operations: JsonPatchOperation[] };

/** Fields of a kind that a request is made of. */
export type ResourcePath = Pick<
  Kind<unknown>,
  "group" | "version" | "kind" | "plural" | "namespaced" | "metadataOnly"
>;

/** A request to the API server, with what metrics call it. */
export interface KubeRequest {
  /** Kubernetes verb: get, list, watch, create, update, patch, delete. */
  readonly verb: string;
  /** Plural of the kind, with `/subresource` if there is one. */
  readonly resource: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Query of a list or watch; undefined values are omitted. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

const PATCH_CONTENT_TYPES: Readonly<Record<Patch["type"], string>> = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
};

function segment(text: string | undefined, what: string): string {
  if (!text || text === "." || text === "..") {
    throw new Error(`${what} must be given, got ${JSON.stringify(text ?? null)}`);
  }
  return encodeURIComponent(text);
}

/** Path of all objects of a kind, in one namespace if one is given. */
function collectionPath(kind: ResourcePath, namespace?: string): string {
  const root = kind.group === "" ? "/api" : "/apis";
  const base = `${root}/${apiVersionOf(kind)}`;
  if (namespace === undefined || !kind.namespaced) return `${base}/${kind.plural}`;
  return `${base}/namespaces/${segment(namespace, "a namespace")}/${kind.plural}`;
}

/** Path of one object, or of a subresource of it. */
function objectPath(kind: ResourcePath, key: ObjectKey, subresource?: string): string {
  const name = segment(key.name, `the name of a ${kind.kind}`);
  if (kind.namespaced) segment(key.namespace, `the namespace of ${kind.kind} ${key.name}`);
  const path = `${collectionPath(kind, key.namespace)}/${name}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

const ACCEPT: { readonly accept: string } = { accept: "application/json" };

/** Media types of only the metadata; a server that does not know them sends whole objects. */
const ACCEPT_METADATA = {
  one: metadataAs("PartialObjectMetadata"),
  list: metadataAs("PartialObjectMetadataList"),
} as const;

function metadataAs(form: string) {
  return { accept: `application/json;as=${form};g=meta.k8s.io;v=v1,application/json` };
}

/** The headers of a request that reads objects one by one, or a list of them. */
function readHeaders({ metadataOnly = false }: ResourcePath, form: "one" | "list") {
  return metadataOnly ? ACCEPT_METADATA[form] : ACCEPT;
}

function withBody(
  base: Omit<KubeRequest, "headers" | "body">,
  body: unknown,
  { type = "application/json", accept = ACCEPT } = {},
): KubeRequest {
  return { ...base, headers: { ...accept, "content-type": type }, body: JSON.stringify(body) };
}

function named(kind: ResourcePath, subresource: string | undefined): string {
  return subresource === undefined ? kind.plural : `${kind.plural}/${subresource}`;
}

/** Reads one object. */
export function getRequest(kind: ResourcePath, key: ObjectKey): KubeRequest {
  const path = objectPath(kind, key);
  const headers = readHeaders(kind, "one");
  return { verb: "get", resource: kind.plural, method: "GET", path, headers };
}

/** Reads a page of a list. */
export function listRequest(
  kind: ResourcePath,
  namespace: string | undefined,
  query: Query,
): KubeRequest {
  const path = collectionPath(kind, namespace) + queryText(query);
  const headers = readHeaders(kind, "list");
  return { verb: "list", resource: kind.plural, method: "GET", path, headers };
}

/** Watches a list. */
export function watchRequest(
  kind: ResourcePath,
  namespace: string | undefined,
  query: Query,
): KubeRequest {
  const request = listRequest(kind, namespace, {
    ...query,
    watch: true,
    allowWatchBookmarks: true,
  });
  return { ...request, verb: "watch", headers: readHeaders(kind, "one") };
}

/** The object with the `apiVersion` and `kind` of its kind. */
function typed(kind: ResourcePath, object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind };
}

/** Creates an object in the namespace of its metadata. */
export function createRequest(kind: ResourcePath, object: KubeObject): KubeRequest {
  const namespace = object.metadata?.namespace;
  // A TokenReview and its like have no metadata and no namespace.
  if (kind.namespaced) segment(namespace, `the namespace of a ${kind.kind} to create`);
  const path = collectionPath(kind, namespace);
  const base = { verb: "create", resource: kind.plural, method: "POST", path };
  return withBody(base, typed(kind, object), { accept: readHeaders(kind, "one") });
}

/** Replaces an object, or one of its subresources. */
export function replaceRequest(
  kind: ResourcePath,
  object: KubeObject,
  subresource?: string,
): KubeRequest {
  const { namespace, name = "" } = object.metadata ?? {};
  const path = objectPath(kind, { namespace, name }, subresource);
  const base = { verb: "update", resource: named(kind, subresource), method: "PUT", path };
  return withBody(base, typed(kind, object));
}

/** Patches an object, or one of its subresources. */
export function patchRequest(
  kind: ResourcePath,
  key: ObjectKey,
  patch: Patch,
  subresource?: string,
): KubeRequest {
  const path = objectPath(kind, key, subresource);
  const base = { verb: "patch", resource: named(kind, subresource), method: "PATCH", path };
  const body = patch.type === "json" ? patch.operations : patch.body;
  return withBody(base, body, { type: PATCH_CONTENT_TYPES[patch.type] });
}

/** How a deletion goes about it. */
export interface Deletion {
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { uid?: string; resourceVersion?: string };
}

/** Deletes an object. */
export function deleteRequest(kind: ResourcePath, key: ObjectKey, deletion: Deletion): KubeRequest {
  const base = {
    verb: "delete",
    resource: kind.plural,
    method: "DELETE",
    path: objectPath(kind, key),
  };
  const { propagationPolicy, gracePeriodSeconds, preconditions } = deletion;
  const options = { propagationPolicy, gracePeriodSeconds, preconditions };
  return withBody(base, { apiVersion: "v1", kind: "DeleteOptions", ...options });
}

/** Posts to a subresource of an object. */
export function createSubresourceRequest(
  kind: ResourcePath,
  key: ObjectKey,
  subresource: string,
  body: unknown,
): KubeRequest {
  const path = objectPath(kind, key, subresource);
  const base = { verb: "create", resource: named(kind, subresource), method: "POST", path };
  return withBody(base, body);
}
