/** Writes of a pod to the API server: its status, and the removal of its object. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../crds/kinds.ts";
import { deleteExactly } from "../../platform/kit/deletion.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { isConflict, isNotFound, messageOf } from "../../platform/kube/errors.ts";
import type { PodStatus } from "./pod_status.ts";
import type { PodSurroundings } from "./pod_surroundings.ts";

const logger = getLogger(["milepost", "standalone"]);

const CALL_MS = 10_000;
/** Wait after a write that failed, in milliseconds. */
const RETRY_MS = 1000;

/** Writes of one pod. */
export class PodWrites {
  #written = "";
  #removed = false;

  constructor(private readonly around: PodSurroundings) {}

  /**
   * Writes the status if it differs from the one that was written last. Returns the pod as it is stored then, or when to
   * try again after a failure, in milliseconds since the epoch.
   */
  async writeStatus({ metadata }: Pod, status: PodStatus) {
    const { client, clock, signal } = this.around;
    const { namespace, name = "", uid } = metadata ?? {};
    const text = JSON.stringify(status);
    if (text === this.#written) return {};
    try {
      const patch = { type: "merge" as const, body: { metadata: { uid }, status } };
      const options = { deadlineMs: CALL_MS, signal, subresource: "status" };
      const stored = await client.patch(KINDS.pod, { namespace, name }, patch, options);
      this.#written = text;
      return { stored };
    } catch (error) {
      if (!signal.aborted && !isNotFound(error) && !isConflict(error)) {
        const pod = `${namespace}/${name}`;
        logger.warn("Cannot write a pod's status", { pod, error: messageOf(error) });
      }
      return { retryAt: clock.now() + RETRY_MS };
    }
  }

  /** Removes the object of a pod that is being deleted. Returns when to try again if that failed. */
  async removeObject(pod: Pod): Promise<number | undefined> {
    const { client, clock, signal } = this.around;
    if (this.#removed || pod.metadata?.deletionTimestamp === undefined) return undefined;
    try {
      const call = { deadlineMs: CALL_MS, signal, gracePeriodSeconds: 0 };
      await deleteExactly(client, KINDS.pod, pod, call);
    } catch {
      return clock.now() + RETRY_MS;
    }
    this.#removed = true;
    return undefined;
  }
}
