/** Calls under way that are shared by all who ask for the same. */

/** Returns the call of the key that is under way, or begins one, which is under way until it settles. */
export function sharedCall<T>(
  underWay: Map<string, Promise<T>>,
  key: string,
  begin: () => Promise<T>,
): Promise<T> {
  const running = underWay.get(key);
  if (running !== undefined) return running;
  const begun = begin().finally(() => underWay.delete(key));
  underWay.set(key, begun);
  return begun;
}
