/** Switch: work that runs only while something holds, such as that a kind is to be run. */
import { onAbort } from "./aborted.ts";
import { createGate } from "./gate.ts";

/** The state as others see it. */
export interface Switch {
  /** Undefined until it is known. */
  readonly on: boolean | undefined;
  /** Calls the listener after each change. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
  /** Resolves with true when the state is known, with false if `signal` aborts before. */
  whenKnown(signal?: AbortSignal): Promise<boolean>;
  /**
   * Runs `work` each time it is on, with a signal that aborts when it is turned off; resolves when `signal`
   * aborts and the work has ended. Rejects if the work does.
   */
  whileOn(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;
}

/** A switch with its handle. */
export interface Turnable extends Switch {
  turn(on: boolean): void;
}

/** Creates a switch whose state is not known yet. */
export function createSwitch(): Turnable {
  const known = createGate();
  const listeners = new Set<() => void>();
  let on: boolean | undefined;

  function onChange(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Resolves when the state is `wanted`, or when `signal` aborts. */
  function whenState(wanted: boolean, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = () => (on === wanted || signal.aborted) && resolve();
    const stop = onChange(check);
    const forget = onAbort(signal, check);
    check();
    return promise.finally(() => {
      stop();
      forget();
    });
  }

  return {
    get on() {
      return on;
    },
    onChange,
    whenKnown: (signal) => known.wait(signal),
    turn(next) {
      if (on === next) return;
      on = next;
      known.pass();
      for (const listener of [...listeners]) listener();
    },
    async whileOn(work, signal) {
      while (!signal.aborted) {
        await whenState(true, signal);
        if (signal.aborted) return;
        const off = new AbortController();
        const stop = onChange(() => on || off.abort());
        try {
          await work(AbortSignal.any([signal, off.signal]));
          // It may be on again already, if it was turned off and on while the work ended.
          if (!off.signal.aborted) await whenState(false, signal);
        } finally {
          stop();
        }
      }
    },
  };
}
