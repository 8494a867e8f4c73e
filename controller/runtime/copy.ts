/** Deep copy of JSON values that caches hold. */

/**
 * Returns a copy of a JSON value that shares nothing with it, and no parts within itself: caches hold
 * equal parts of objects as one, and structuredClone() keeps them as one, so that a change in one place
 * would be a change in all. `undefined` in objects is left out. Throws for anything but JSON.
 */
export function unshared<T extends NonNullable<unknown>>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
