/** Times of a leader election, and the rules that keep two replicas from leading at once. Pure. */

/** Times of an election, in milliseconds. */
export interface ElectionTimes {
  /** Time without a renewal after which any candidate may take the Lease. */
  readonly leaseMs: number;
  /** After this long without a renewal the leader stops. */
  readonly renewMs: number;
  /** Time between attempts, plus up to {@link RETRY_JITTER} of it. */
  readonly retryMs: number;
}

/** The times of an election when none are given. */
export const DEFAULT_TIMES: ElectionTimes = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2000 };

/** Share of the time between attempts by which one may come later. */
export const RETRY_JITTER = 0.2;

/** Returns the problem of times that do not fit each other, with their `names`; undefined if they fit. */
export function electionTimesProblem(
  { leaseMs, renewMs, retryMs }: ElectionTimes,
  names: Readonly<Record<keyof ElectionTimes, string>>,
): string | undefined {
  if (!(renewMs < leaseMs)) {
    return `${names.renewMs}: must be below ${names.leaseMs}, or two replicas may lead at once`;
  }
  return retryMs * (1 + RETRY_JITTER) < renewMs
    ? undefined
    : `${names.retryMs}: must be well below ${names.renewMs} (at most four fifths of it)`;
}
