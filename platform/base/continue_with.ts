/** Continuation of what may be there at once. */

/** Continues at once if nothing has to be waited for: a promise costs more than most steps. */
export function continueWith<T, R>(
  value: T | Promise<T>,
  next: (value: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
