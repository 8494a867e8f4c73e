/** Listeners by key, such as the UID of a job. */
import { createListeners, type Listeners } from "./listeners.ts";

/** Creates a set of functions that are called with the events of their key; never holds more keys than listeners. */
export function createKeyedListeners<Event = void>() {
  const byKey = new Map<string, Listeners<Event>>();
  return {
    /** Adds a listener; a listener is called once even if it was added twice. Returns a function that removes it. */
    add(key: string, listener: (event: Event) => void): () => void {
      const own = byKey.get(key) ?? createListeners<Event>();
      byKey.set(key, own);
      const remove = own.add(listener);
      return () => {
        remove();
        if (own.size === 0 && byKey.get(key) === own) byKey.delete(key);
      };
    },
    /** Returns whether anybody listens to the key. */
    has: (key: string): boolean => byKey.has(key),
    /** Calls the listeners of the key as they are now; one that removes itself or others does not change that. */
    notify: (key: string, event: Event): void => byKey.get(key)?.notify(event),
  };
}
