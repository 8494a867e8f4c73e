/** Listeners by key, such as the UID of a job. */

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
  const byKey = new Map<string, Set<(event: Event) => void>>();
  return {
    add(key, listener) {
      const own = byKey.get(key) ?? new Set();
      byKey.set(key, own.add(listener));
      return () => {
        own.delete(listener);
        if (own.size === 0 && byKey.get(key) === own) byKey.delete(key);
      };
    },
    has: (key) => byKey.has(key),
    notify(key, event) {
      for (const listener of [...byKey.get(key) ?? []]) listener(event);
    },
  };
}
