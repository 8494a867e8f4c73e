/** Waits for work, but no longer than somebody wants. */

/** Resolves when `work` ends, however, or when `signal` aborts. Never rejects. */
export function orAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
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
