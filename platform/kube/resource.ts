/** Kinds, keys and metadata of Kubernetes objects. */
import { isObject } from "../base/json.ts";

/** API paths of a kind, and the parser of its objects. */
export interface Kind<T> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Whether reads request no more than the metadata. Default false. */
  readonly metadataOnly?: boolean;
  /** Reads an object from the API server. Throws if it is not one of this kind. */
  readonly parse: (value: unknown) => T;
}

/** Returns the plural that a kind has if nobody chose another (apimachinery, `UnsafeGuessKindToResource`). */
export function guessPlural(kind: string): string {
  const name = kind.toLowerCase();
  if (name.endsWith("s")) return `${name}es`;
  return name.endsWith("y") ? `${name.slice(0, -1)}ies` : `${name}s`;
}

/** A reference to an owner, as `metadata.ownerReferences` has it. */
export interface OwnerRef {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** The metadata that every object may carry. Times are RFC 3339 strings. */
export interface KubeMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerRef[];
}

/** Any Kubernetes object. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata?: KubeMeta;
}

/** The kind, of whose objects no more than the metadata is read. */
export function withMetadataOnly(kind: Kind<unknown>): Kind<KubeObject> {
  return {
    ...kind,
    metadataOnly: true,
    parse(value) {
      if (!isObject(value) || !isObject(value.metadata)) throw new Error("must have metadata");
      return { metadata: value.metadata };
    },
  };
}

/** Key of an object of a known kind; `namespace` is absent for cluster scope. */
export interface ObjectKey {
  namespace?: string;
  name: string;
}

/** Returns the key of an object; one without a name gives an empty name. */
export function objectKeyOf({ metadata }: KubeObject): ObjectKey {
  return { namespace: metadata?.namespace, name: metadata?.name ?? "" };
}

/** `namespace/name`, or `name` for cluster scope. An object without a name gives an empty name. */
export function keyOf(object: KubeObject): string {
  return formatKey(objectKeyOf(object));
}

/** The text of a key, as {@link parseKey} reads it back. */
export function formatKey(key: ObjectKey): string {
  return key.namespace ? `${key.namespace}/${key.name}` : key.name;
}

/** Reads the text that {@link keyOf} writes. */
export function parseKey(key: string): ObjectKey {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** `apiVersion` of a kind: `v1`, or `group/version`. */
export function apiVersionOf(kind: Pick<Kind<unknown>, "group" | "version">): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}
