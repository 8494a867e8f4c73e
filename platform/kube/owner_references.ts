/** Owner references: pure reading and writing. */
import { formatKey, type KubeMeta, type KubeObject, type OwnerRef } from "./resource.ts";

/** The owner that controls the object, if any. */
export function controllerOf(
  metadata: Pick<KubeMeta, "ownerReferences"> | undefined,
): OwnerRef | undefined {
  return metadata?.ownerReferences?.find((owner) => owner.controller === true);
}

/** The UID of the object's controller, as the value of an index; none if nothing controls it. */
export function controllerUids({ metadata }: KubeObject): string[] {
  const uid = controllerOf(metadata)?.uid;
  return uid === undefined ? [] : [uid];
}

/** A kind of owners, in any version. */
export interface OwnerKind {
  readonly group: string;
  readonly kind: string;
}

/** Returns the owner that controls the object, if it is of that kind. */
export function controllerOfKind(
  metadata: Pick<KubeMeta, "ownerReferences"> | undefined,
  { group, kind }: OwnerKind,
): OwnerRef | undefined {
  const owner = controllerOf(metadata);
  return owner?.kind === kind && owner.apiVersion.startsWith(`${group}/`) ? owner : undefined;
}

/** Key of the object of that kind that controls this one; undefined if none does. */
export function controllerKey({ metadata }: KubeObject, kind: OwnerKind): string | undefined {
  const owner = controllerOfKind(metadata, kind);
  return owner && formatKey({ namespace: metadata?.namespace, name: owner.name });
}

/**
 * Whether an earlier object of the same kind and name controls the one of that metadata: the garbage collector is
 * about to delete it.
 */
export function isOfPredecessor(
  metadata: Pick<KubeMeta, "ownerReferences"> | undefined,
  kind: OwnerKind,
  { name, uid }: Pick<KubeMeta, "name" | "uid">,
): boolean {
  const owner = controllerOfKind(metadata, kind);
  return owner !== undefined && owner.name === name && owner.uid !== uid;
}

/** Whether the object of that uid controls this one. */
export function isControlledBy(
  metadata: Pick<KubeMeta, "ownerReferences"> | undefined,
  uid: string,
): boolean {
  return controllerOf(metadata)?.uid === uid;
}

/** An owner reference that makes `owner` the controller and blocks its foreground deletion. */
export function controllerReference(
  owner: Pick<OwnerRef, "apiVersion" | "kind" | "name" | "uid">,
): Required<OwnerRef> {
  const { apiVersion, kind, name, uid } = owner;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}
