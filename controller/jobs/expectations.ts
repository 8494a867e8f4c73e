/** Expectations: the creations and deletions of a job's pods and Services that the caches do not show yet. */

/** Objects that are created for replicas. */
export type Expected = "pods" | "services";

/** Time after which what is expected counts as lost, in milliseconds. */
export const EXPECTATION_MS = 5 * 60_000;
/** Jobs that are remembered; beyond it the one that was raised first is forgotten. */
const JOBS_MAX = 20_000;

/** What is expected of one replica type's pods, or of its Services. */
interface Pair {
  /** Names of the objects that were created. */
  readonly adds: Set<string>;
  /** UIDs of the objects that were deleted. */
  readonly deletions: Set<string>;
}

interface Entry {
  readonly pairs: Map<string, Pair>;
  /** Time of the first expectation, in milliseconds. */
  readonly since: number;
}

/** One replica type's pods or Services of a job. */
export interface ExpectationKey {
  /** UID of the job. */
  readonly job: string;
  /** In lower case. */
  readonly type: string;
  readonly of: Expected;
}

/** Expectations of all jobs. A pass that begins before they are met would decide by an outdated cache. */
export interface Expectations {
  /** Raised before an object is created. */
  expectCreation(key: ExpectationKey, name: string): void;
  /** Raised before an object is deleted. */
  expectDeletion(key: ExpectationKey, uid: string): void;
  /** The cache shows the object, or it was not created after all. */
  creationObserved(key: ExpectationKey, name: string): void;
  /** The cache shows the deletion, or it did not happen after all. */
  deletionObserved(key: ExpectationKey, uid: string): void;
  /**
   * Returns how long a pass has to wait, unless the expectations are met before, in milliseconds: 0 if all of
   * them are met or have expired, and then they are dropped.
   */
  waitMs(job: string): number;
  /** Drops what is expected of a job. */
  forget(job: string): void;
  /** How many jobs are remembered. */
  readonly size: number;
}

/** Creates empty expectations. `now` is a time that only grows, in milliseconds. */
export function createExpectations(
  { now, jobsMax = JOBS_MAX }: { readonly now: () => number; readonly jobsMax?: number },
): Expectations {
  const entries = new Map<string, Entry>();

  function pairOf({ job, type, of }: ExpectationKey): Pair {
    const entry = entries.get(job) ?? { pairs: new Map(), since: now() };
    entries.set(job, entry);
    const pair = entry.pairs.get(`${type}/${of}`) ?? { adds: new Set(), deletions: new Set() };
    entry.pairs.set(`${type}/${of}`, pair);
    return pair;
  }

  function raise(key: ExpectationKey, list: keyof Pair, text: string): void {
    pairOf(key)[list].add(text);
    if (entries.size <= jobsMax) return;
    for (const oldest of entries.keys()) {
      entries.delete(oldest);
      break;
    }
  }

  function lower({ job, type, of }: ExpectationKey, list: keyof Pair, text: string): void {
    const entry = entries.get(job);
    const pair = entry?.pairs.get(`${type}/${of}`);
    if (entry === undefined || pair === undefined || !pair[list].delete(text)) return;
    if (pair.adds.size > 0 || pair.deletions.size > 0) return;
    entry.pairs.delete(`${type}/${of}`);
    if (entry.pairs.size === 0) entries.delete(job);
  }

  return {
    expectCreation: (key, name) => raise(key, "adds", name),
    expectDeletion: (key, uid) => raise(key, "deletions", uid),
    creationObserved: (key, name) => lower(key, "adds", name),
    deletionObserved: (key, uid) => lower(key, "deletions", uid),
    waitMs(job) {
      const entry = entries.get(job);
      if (entry === undefined) return 0;
      const left = entry.since + EXPECTATION_MS - now();
      if (left <= 0) entries.delete(job);
      return Math.max(0, left);
    },
    forget: (job) => void entries.delete(job),
    get size() {
      return entries.size;
    },
  };
}
