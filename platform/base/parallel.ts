/** Bounded concurrency over a list of items. */

/**
 * Calls `work` for each item, at most `limit` at a time, and waits for all. Returns the errors in
 * the order of the items; one error does not keep the others from running. Items that have not
 * begun when `signal` aborts are not begun.
 */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
  { limit = 50, signal }: { limit?: number; signal?: AbortSignal } = {},
): Promise<unknown[]> {
  const errors: { index: number; error: unknown }[] = [];
  const queue = items.entries();
  const lane = async () => {
    for (const [index, item] of queue) {
      if (signal?.aborted) return;
      try {
        await work(item);
      } catch (error) {
        errors.push({ index, error });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  return errors.sort((a, b) => a.index - b.index).map(({ error }) => error);
}
