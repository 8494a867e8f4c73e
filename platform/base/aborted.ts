/** Ends by signals: acts when one aborts, and waits that it ends. */

/** Calls `act` when the signal aborts, at once if it has. Returns a function that takes the listener away. */
export function onAbort(signal: AbortSignal | undefined, act: () => void): () => void {
  const listener = () => act();
  if (signal?.aborted) act();
  else signal?.addEventListener("abort", listener, { once: true });
  return () => signal?.removeEventListener("abort", listener);
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve));
}

/** Resolves when `work` settles or when `signal` aborts. Never rejects. */
export async function settledOrAborted(
  work: Promise<unknown>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const forget = onAbort(signal, resolve);
  await Promise.allSettled([Promise.race([work, promise])]);
  forget();
}

/** Settles as `work` does. Throws the reason of `signal` if that aborts before. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const forget = onAbort(signal, () => reject(signal.reason));
  return await Promise.race([work, promise]).finally(forget);
}
