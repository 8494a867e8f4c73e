/** One-time gate that many can wait for. */

import { onAbort } from "./aborted.ts";

/** A gate that opens once, or never. */
export interface Gate {
  readonly open: boolean;
  /** Opens it: every {@link wait} resolves with true. */
  pass(): void;
  /** Closes it for good: every {@link wait} resolves with false. */
  stop(): void;
  /** Resolves with true when it is open, with false when it was stopped or `signal` aborts first. */
  wait(signal?: AbortSignal): Promise<boolean>;
}

/** A closed gate. */
export function createGate(): Gate {
  let open = false;
  let stopped = false;
  const waiters = new Set<(opened: boolean) => void>();
  const settle = () => {
    for (const waiter of waiters) waiter(open);
    waiters.clear();
  };
  return {
    get open() {
      return open;
    },
    pass() {
      open = true;
      settle();
    },
    stop() {
      stopped = true;
      settle();
    },
    wait(signal?: AbortSignal): Promise<boolean> {
      if (open || stopped || signal?.aborted) return Promise.resolve(open);
      return new Promise((resolve) => {
        const finish = (opened: boolean) => {
          forget();
          waiters.delete(finish);
          resolve(opened);
        };
        waiters.add(finish);
        const forget = onAbort(signal, () => finish(false));
      });
    },
  };
}
