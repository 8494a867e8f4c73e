/** Changes that are decided by an object as it is read now, and decided again while others write to it. */
import { isConflict, isNotFound } from "./errors.ts";

/** How often an object that others write at the same time is read again. */
const ATTEMPTS = 5;

/** Whether a write found another object than the one that it was decided by: it is to be read again. */
export const hasChanged = (error: unknown): boolean => isConflict(error) || isNotFound(error);

/**
 * Resolves with the first outcome of `attempt`, which reads, decides and writes, and resolves with undefined if what it has
 * read has changed. Rejects as that does, and with an error that names `what` if it changes all the time.
 */
export async function decidedAgain<T>(
  what: string,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  for (let times = 0; times < ATTEMPTS; times++) {
    const outcome = await attempt();
    if (outcome !== undefined) return outcome;
  }
  throw new Error(`${what} changed during each of ${ATTEMPTS} attempts`);
}
