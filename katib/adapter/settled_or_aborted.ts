/** Wait for work that ends early when a signal aborts. */

/** Resolves when `work` settles or when `signal` aborts. Never rejects. */
export function settledOrAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      signal.removeEventListener("abort", end);
      resolve();
    };
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    work.then(end, end);
  });
}
