/** Listeners to one kind of event. */

/** A function that is called with events. */
type Listener<Event> = (event: Event) => void;

/** Functions that are called with each event. */
export type Listeners<Event> = ReturnType<typeof createListeners<Event>>;

/** Creates {@link Listeners}, which `call` calls; without it an error of one is thrown to who notifies. */
export function createListeners<Event = void>(
  call: (listener: Listener<Event>, event: Event) => void = (listener, event) => listener(event),
) {
  const all = new Set<Listener<Event>>();
  /** All, as they are called: listed after a change of them, not for each event. */
  let called: readonly Listener<Event>[] | undefined;
  return {
    /** Adds a listener; a listener is called once even if it was added twice. Returns a function that removes it. */
    add(listener: Listener<Event>): () => void {
      all.add(listener);
      called = undefined;
      return () => {
        if (all.delete(listener)) called = undefined;
      };
    },
    /** Calls the listeners as they are now; one that removes itself or others does not change that. */
    notify(event: Event): void {
      for (const listener of called ??= [...all]) call(listener, event);
    },
    get size(): number {
      return all.size;
    },
  };
}
