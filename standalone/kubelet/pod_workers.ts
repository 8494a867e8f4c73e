/** Workers of a node's pods: one for each pod, by its UID. */
import { getLogger } from "@logtape/logtape";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { type AddressBook, identityOf } from "./names/addresses.ts";
import type { PodSurroundings } from "./pod_surroundings.ts";
import { PodWorker } from "./pod_worker.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Options of {@link PodWorkers}. */
export interface PodWorkersOptions {
  readonly book: AddressBook;
  readonly around: PodSurroundings;
  /** Is called when a worker has ended. */
  readonly onEnd: () => void;
}

/** The workers of all pods. */
export class PodWorkers {
  readonly #workers = new Map<string, { worker: PodWorker; done: Promise<void> }>();

  constructor(private readonly options: PodWorkersOptions) {}

  /** Takes a pod that is new or has changed. Its worker runs until the pod is gone or `signal` aborts. */
  take(pod: Pod, signal: AbortSignal): void {
    const uid = pod.metadata?.uid;
    if (uid === undefined || signal.aborted) return;
    const known = this.#workers.get(uid);
    if (known) return known.worker.update(pod);
    // A pod of that name went while the watch was interrupted: no deletion was reported.
    this.#removeNamesakes(pod);
    const { book, around, onEnd } = this.options;
    const worker = new PodWorker(pod, book.addressOf(identityOf(pod)), around);
    const done = worker.run(signal).catch((error) => {
      logger.error("A pod's worker failed", { pod: pod.metadata?.name, error });
    }).finally(() => {
      this.#workers.delete(uid);
      onEnd();
    });
    this.#workers.set(uid, { worker, done });
  }

  /** Ends the worker of a pod whose object is gone. */
  remove(pod: Pod): void {
    this.#workers.get(pod.metadata?.uid ?? "")?.worker.remove();
  }

  /** Resolves when all workers have ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#workers.values()].map(({ done }) => done));
  }

  #removeNamesakes(pod: Pod): void {
    const old = [...this.#workers.values()].filter(({ worker }) =>
      worker.namespace === pod.metadata?.namespace && worker.name === pod.metadata?.name
    );
    for (const { worker } of old) worker.remove();
  }
}
