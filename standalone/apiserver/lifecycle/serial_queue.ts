/** Serial work queue: one key at a time; a key whose handling fails is handled again after a back-off. */
import { getLogger } from "@logtape/logtape";
import type { Backoff } from "../../../platform/base/backoff.ts";
import { createWorkQueue, workOn } from "../../../platform/base/work_queue.ts";

const logger = getLogger(["milepost", "standalone"]);
/** Delay before a failed key is handled again. */
const RETRY: Backoff = { firstMs: 50, longestMs: 3_200 };
/** Failures of a key in a row before they are logged: most are writes that came between. */
const PATIENCE = 2;

/** A queue that works by itself. */
export type SerialQueue = ReturnType<typeof createSerialQueue>;

/** Creates a queue that calls `handle` with each key that is added; a failure is logged under `name`. */
export function createSerialQueue(
  name: string,
  handle: (key: string) => Promise<void>,
) {
  const queue = createWorkQueue({ backoff: RETRY });
  let stopped = false;
  const running = workOn(queue, async (key) => {
    try {
      await handle(key);
      queue.forget(key);
    } catch (error) {
      if (stopped) return;
      queue.addRateLimited(key);
      if (queue.failures(key) > PATIENCE) {
        logger.warn("{name} failed: {error}", { name, key, error });
      }
    }
  });
  return {
    add: queue.add,
    /** Stops the queue. Resolves when the current key is handled. */
    async stop(): Promise<void> {
      stopped = true;
      queue.shutDown();
      await running;
    },
  };
}
