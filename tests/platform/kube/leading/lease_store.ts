/** One Lease in memory, with clients that can be cut off. */
import { KubeError } from "../../../../platform/kube/errors.ts";
import { KUBERNETES_KINDS } from "../../../../platform/kube/kubernetes_kinds.ts";
import type { Kind, KubeObject, ObjectKey } from "../../../../platform/kube/resource.ts";

/** One lease, at first without a holder as `deploy/` installs it, and clients of it that can be cut off. */
export function leaseStore() {
  let version = 0;
  let uid = 0;
  const empty = (): KubeObject => ({
    metadata: { name: "lease", namespace: "ns", uid: `u${++uid}`, resourceVersion: `${++version}` },
  });
  let stored: KubeObject | undefined = empty();
  const refuse = (code: number, reason: string) => new KubeError(reason, { code, reason });
  const clientOf = (link: { down: boolean }) => ({
    async get<T>(kind: Kind<T>, _key: ObjectKey): Promise<T> {
      await Promise.resolve();
      if (link.down) throw new Error("cut off");
      if (stored === undefined) throw refuse(404, "NotFound");
      return kind.parse(structuredClone(stored));
    },
    create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T> {
      if (stored !== undefined) return Promise.reject(refuse(409, "AlreadyExists"));
      const metadata = { ...object.metadata, uid: `u${++uid}` };
      return write(kind, { ...object, metadata }, link);
    },
    replace<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T> {
      if (object.metadata?.resourceVersion !== stored?.metadata?.resourceVersion) {
        return Promise.reject(refuse(409, "Conflict"));
      }
      return write(kind, object, link);
    },
  });
  async function write<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    link: { down: boolean },
  ): Promise<T> {
    if (link.down) throw new Error("cut off");
    const metadata = { ...object.metadata, resourceVersion: String(++version) };
    stored = structuredClone({ ...object, metadata });
    await Promise.resolve();
    return kind.parse(structuredClone(stored));
  }
  return {
    clientOf,
    read: () =>
      stored === undefined ? undefined : KUBERNETES_KINDS.lease.parse(structuredClone(stored)),
    /** Deletes the Lease. */
    remove: () => stored = undefined,
    /** Creates the Lease again without a holder, as an apply does. */
    install: () => stored ??= empty(),
  };
}
