/** Changes of an object that are refused if it is not as it was read. Pure. */
import type { KubeMeta, KubeObject } from "../kube/resource.ts";

/** Fields of a merge patch. */
export interface MergeFields {
  readonly metadata?: { readonly [Field in keyof KubeMeta]?: unknown };
  readonly [field: string]: unknown;
}

/** Returns the merge patch with the UID and the resource version of the object, which make it a conflict with any change. */
export function asRead(read: KubeObject, { metadata, ...fields }: MergeFields): MergeFields {
  const { uid, resourceVersion } = read.metadata ?? {};
  return { metadata: { ...metadata, uid, resourceVersion }, ...fields };
}
