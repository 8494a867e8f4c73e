/** Serial work queue of keys with per-key back-off; a key that is added several times is handled once. */
import { getLogger } from "@logtape/logtape";

const logger = getLogger(["milepost", "standalone"]);
/** Delay before a failed key is retried; it doubles up to 64-fold, with jitter. */
const RETRY_MS = 50;
const RETRY_DOUBLINGS = 6;

/** A work queue. */
export interface SerialQueue {
  /** Adds a key. */
  add(key: string): void;
  /** Stops the queue. Resolves when the current key is handled. */
  stop(): Promise<void>;
}

/** Creates a queue that handles one key at a time. A key whose handler throws is retried with back-off. */
export function createSerialQueue(
  name: string,
  handle: (key: string) => Promise<void>,
): SerialQueue {
  const waiting = new Set<string>();
  const failures = new Map<string, number>();
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let [stopped, running] = [false, Promise.resolve()];
  let busy = false;

  const retry = (key: string, error: unknown) => {
    const times = failures.get(key) ?? 0;
    failures.set(key, times + 1);
    if (times > 1) logger.warn("{name} failed: {error}", { name, key, error });
    const ms = RETRY_MS * 2 ** Math.min(times, RETRY_DOUBLINGS) * (0.5 + Math.random());
    const timer = setTimeout(() => {
      timers.delete(timer);
      add(key);
    }, ms);
    timers.add(timer);
  };
  const work = async () => {
    for (const key of waiting) {
      if (stopped) break;
      waiting.delete(key);
      try {
        await handle(key);
        failures.delete(key);
      } catch (error) {
        if (!stopped) retry(key, error);
      }
    }
    busy = false;
    if (waiting.size > 0 && !stopped) start();
  };
  const start = () => {
    busy = true;
    running = Promise.resolve().then(work);
  };
  const add = (key: string) => {
    if (stopped) return;
    waiting.add(key);
    if (!busy) start();
  };
  return {
    add,
    async stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
      await running;
    },
  };
}
