/** Bounds of the mirror of curves. */

export const MIRROR_LIMITS = {
  /** Streams from the manager, of up to a hundred jobs each: it lets one user have 20 by default. */
  streams: 16,
  /** Bytes of all curves. */
  bytes: 128 << 20,
  /** How long a job that nobody views any more is followed, in milliseconds. */
  lingerMs: 30_000,
  /** How long an answer waits for curves that have not come yet, in milliseconds. */
  waitMs: 5_000,
  /** Jobs for which there is no place, and which wait for one; of these and of places one user has half of what is free. */
  waiting: 10_000,
} as const;
