/** Copies of what caches hold. */

/**
 * A copy of a JSON value that shares nothing with it, and nothing within itself: caches hold equal parts
 * of objects as one part, which structuredClone() keeps as one, so that a change in one place would be
 * a change in all. `undefined` in objects is left out. Only for JSON; anything else is an error.
 */
export function unshared<T extends NonNullable<unknown>>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
