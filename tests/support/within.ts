/** Waiting for a promise with a generous time limit, which is not a measurement. */

/** The outcome of `work`. Throws after `timeoutMs` (default 30 s), saying what did not come. */
export async function within<T>(
  what: string,
  work: () => Promise<T>,
  timeoutMs = 30_000,
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`waited ${timeoutMs} ms in vain for ${what}`)),
    timeoutMs,
  );
  try {
    return await Promise.race([work(), promise]);
  } finally {
    clearTimeout(timer);
  }
}
