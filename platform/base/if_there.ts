/** Reads of what may be gone, or not for this user. */

/** Returns what `read` returns; undefined if it throws. */
export function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
