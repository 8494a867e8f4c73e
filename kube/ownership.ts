/** Who owns an object: pure reading and writing of owner references. */
import type { KubeMeta, OwnerRef } from "./resource.ts";

/** The owner that controls the object, if any. */
export function controllerOf(
  metadata: Pick<KubeMeta, "ownerReferences"> | undefined,
): OwnerRef | undefined {
  return metadata?.ownerReferences?.find((owner) => owner.controller === true);
}

/** Whether the object of that uid controls this one. */
export function isControlledBy(
  metadata: Pick<KubeMeta, "ownerReferences"> | undefined,
  uid: string,
): boolean {
  return controllerOf(metadata)?.uid === uid;
}

/** Whether the object of that uid is among the owners, as controller or not. */
export function isOwnedBy(
  metadata: Pick<KubeMeta, "ownerReferences"> | undefined,
  uid: string,
): boolean {
  return metadata?.ownerReferences?.some((owner) => owner.uid === uid) ?? false;
}

/** An owner reference that makes `owner` the controller and holds back its foreground deletion. */
export function controllerReference(
  owner: Pick<OwnerRef, "apiVersion" | "kind" | "name" | "uid">,
): Required<OwnerRef> {
  const { apiVersion, kind, name, uid } = owner;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}
