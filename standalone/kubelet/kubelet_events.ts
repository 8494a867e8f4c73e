/** Events of the kubelet about pods and claims. */
import type { ObjectMeta } from "../../platform/kube/kubernetes.ts";

/** An event of the kubelet. */
export interface KubeletEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Recorder of the kubelet's events. */
export interface KubeletEvents {
  record(
    about: { apiVersion: string; kind: string; namespace?: string; name: string; uid?: string },
    event: KubeletEvent,
  ): void;
}

/** Records an event about an object of a kind of the core group; without a recorder nothing happens. */
export function recordAbout(
  events: KubeletEvents | undefined,
  kind: "Pod" | "PersistentVolumeClaim",
  { metadata: { namespace, name = "", uid } = {} }: { readonly metadata?: ObjectMeta },
  event: KubeletEvent,
): void {
  events?.record({ apiVersion: "v1", kind, namespace, name, uid }, event);
}
