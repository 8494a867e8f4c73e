/** Switch: what holds now, such as that a kind is to be run, with word of each change. */
import { createListeners } from "./listeners.ts";

/** The state as others see it. */
export interface Switch<T = boolean> {
  /** Undefined until it is known. */
  readonly on: T | undefined;
  /** Calls the listener after each change. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
}

/** A switch with its handle. */
export interface Turnable<T = boolean> extends Switch<T> {
  turn(on: T): void;
}

/** Creates a switch whose state is not known yet. */
export function createSwitch<T = boolean>(): Turnable<T> {
  const listeners = createListeners();
  let on: T | undefined;
  return {
    get on() {
      return on;
    },
    onChange: listeners.add,
    turn(next) {
      if (on === next) return;
      on = next;
      listeners.notify();
    },
  };
}
