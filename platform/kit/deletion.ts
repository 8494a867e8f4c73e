/** Deletion of exactly one object, and not of another one that has its name by now. */
import type { DeleteOptions, KubeClient } from "../kube/client.ts";
import { isConflict, isNotFound } from "../kube/errors.ts";
import { type Kind, type KubeObject, objectKeyOf } from "../kube/resource.ts";

/** Deletes the object of that UID. Returns whether it was still there. */
export async function deleteExactly(
  client: Pick<KubeClient, "delete">,
  kind: Kind<unknown>,
  object: KubeObject,
  options: Omit<DeleteOptions, "preconditions">,
): Promise<boolean> {
  const preconditions = { uid: object.metadata?.uid };
  try {
    await client.delete(kind, objectKeyOf(object), { ...options, preconditions });
    return true;
  } catch (error) {
    // It was deleted already, or another object has the name now.
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}
