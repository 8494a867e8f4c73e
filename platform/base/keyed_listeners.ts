/** Listeners by key, such as the UID of a job. */
import { createListeners, type Listeners } from "./listeners.ts";

/** Functions that are called with the events of their key. */
export interface KeyedListeners<Event> {
  /** Adds a listener; a listener is called once even if it was added twice. Returns a function that removes it. */
  add(key: string, listener: (event: Event) => void): () => void;
  /** Returns whether anybody listens to the key. */
  has(key: string): boolean;
  /** Calls the listeners of the key as they are now; one that removes itself or others does not change that. */
  notify(key: string, event: Event): void;
}

/** Creates {@link KeyedListeners}; never holds more keys than listeners. */
export function createKeyedListeners<Event = void>(): KeyedListeners<Event> {
  const byKey = new Map<string, Listeners<Event>>();
  return {
    add(key, listener) {
      const own = byKey.get(key) ?? createListeners<Event>();
      byKey.set(key, own);
      const remove = own.add(listener);
      return () => {
        remove();
        if (own.size === 0 && byKey.get(key) === own) byKey.delete(key);
      };
    },
    has: (key) => byKey.has(key),
    notify: (key, event) => byKey.get(key)?.notify(event),
  };
}
