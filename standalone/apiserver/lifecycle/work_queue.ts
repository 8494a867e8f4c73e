/** A loop that handles keys one after the other, each once however often it was asked for. */
import { getLogger } from "@logtape/logtape";

const logger = getLogger(["milepost", "standalone"]);
/** Wait before a failed key is tried again; doubled up to 64 times, with jitter. */
const RETRY_MS = 50;
const RETRY_DOUBLINGS = 6;

/** Work by key. */
export interface WorkLoop {
  /** Asks for a key to be handled soon. */
  add(key: string): void;
  /** Stops; resolves when the key in hand is done. */
  stop(): Promise<void>;
}

/** A loop over keys. A key whose handling throws is tried again, later each time. */
export function createWorkLoop(
  name: string,
  handle: (key: string) => Promise<void>,
): WorkLoop {
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
