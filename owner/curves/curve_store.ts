/** Store of the curves of all jobs, within one budget of memory. */
import type { Clock } from "../../platform/base/clock.ts";
import { createListeners } from "../../platform/base/listeners.ts";
import { type CurveSample, CurvesOfJob, type CurvesQuery } from "./job_curves.ts";
import type { CurveMark, CurvesNews } from "../../crds/wire/shown_curves.ts";
import type { PushingPod } from "./pushing_pods.ts";

export type { CurveSample, CurvesQuery } from "./job_curves.ts";
export { JOB_CURVE_LIMITS, PROGRESS, STEP } from "./job_curves.ts";
export { MARK_LIMITS } from "./marks.ts";

/** Bounds of a store. */
export const CURVE_STORE_LIMITS = {
  bytes: 64 << 20,
  /** Buckets of a series, and of one while there are more than so many jobs. */
  buckets: 128,
  manyJobs: 4_000,
  bucketsOfMany: 64,
  /** Jobs that one change shrinks when there have become many: no push shall wait for all of them. */
  shrunkAtOnce: 8,
} as const;

/** The curves of a job as they are now. */
export type JobCurves = NonNullable<ReturnType<CurveStore["curvesOf"]>>;

/** What is kept of a job. */
interface Kept {
  readonly curves: CurvesOfJob;
  /** The number of the change that made it, and of its last one. */
  readonly since: number;
  version: number;
  hasEnded: boolean;
}

/** Bytes of a job's entry. */
const ENTRY_BYTES = 200;

const bytesOf = (kept: Kept | undefined) =>
  kept === undefined ? 0 : ENTRY_BYTES + kept.curves.bytes;

/** The curves of all jobs, by the UID of the job. */
export type CurveStore = ReturnType<typeof createCurveStore>;

/** Creates an empty {@link CurveStore}. */
export function createCurveStore(
  { clock, maxBytes = CURVE_STORE_LIMITS.bytes, onDrop }: {
    readonly clock: Pick<Clock, "now">;
    readonly maxBytes?: number;
    /** Called for each job whose curves are kept no longer. */
    readonly onDrop?: (jobUid: string) => void;
  },
) {
  /** Those that give way later, and those that have ended; in both the one least recently changed is the first. */
  const [running, ended] = [new Map<string, Kept>(), new Map<string, Kept>()];
  /** Those with the most buckets. */
  const wide = new Set<Kept>();
  const listeners = createListeners<string>();
  const id = crypto.randomUUID();
  let bytes = 0;
  let changes = 0;

  const keptOf = (uid: string) => running.get(uid) ?? ended.get(uid);
  const jobs = () => running.size + ended.size;
  const hasMany = () => jobs() > CURVE_STORE_LIMITS.manyJobs;

  function created(): Kept {
    const { buckets, bucketsOfMany, manyJobs } = CURVE_STORE_LIMITS;
    const curves = new CurvesOfJob(jobs() >= manyJobs ? bucketsOfMany : buckets);
    return { curves, since: changes, version: changes, hasEnded: false };
  }

  /** Makes the job the most recently changed one. */
  function put(uid: string, kept: Kept): void {
    running.delete(uid);
    ended.delete(uid);
    (kept.hasEnded ? ended : running).set(uid, kept);
  }

  /** Returns whether there was something to drop. */
  function drop(uid: string): boolean {
    const kept = keptOf(uid);
    if (kept === undefined) return false;
    bytes -= bytesOf(kept);
    running.delete(uid);
    ended.delete(uid);
    wide.delete(kept);
    onDrop?.(uid);
    return true;
  }

  function shrinkSome(): void {
    let left = CURVE_STORE_LIMITS.shrunkAtOnce;
    for (const kept of wide) {
      if (!hasMany() || left-- === 0) return;
      bytes -= bytesOf(kept);
      kept.curves.shrink(CURVE_STORE_LIMITS.bucketsOfMany);
      bytes += bytesOf(kept);
      wide.delete(kept);
    }
  }

  /** Beginning of the cursors of which the points before {@link CurvesOfJob.recentMs} are the same; that time follows. */
  const shapeOf = ({ since, curves }: Kept) => `${id}.${since}.${curves.reshapes}.`;

  /** Drops jobs until the rest fits, and returns them. */
  function makeRoom(): string[] {
    const dropped: string[] = [];
    while (bytes > maxBytes) {
      const [first] = (ended.size > 0 ? ended : running).keys();
      if (first === undefined) break;
      drop(first);
      dropped.push(first);
    }
    return dropped;
  }

  /** Changes the curves of a job; `change` returns whether it did. */
  function changeOf(uid: string, change: (curves: CurvesOfJob) => boolean): void {
    const known = keptOf(uid);
    const kept = known ?? created();
    const before = bytesOf(known);
    const isChanged = change(kept.curves);
    if (known || isChanged) bytes += bytesOf(kept) - before;
    if (!isChanged) return;
    kept.version = ++changes;
    put(uid, kept);
    if (kept.curves.buckets > CURVE_STORE_LIMITS.bucketsOfMany) wide.add(kept);
    shrinkSome();
    for (const changed of new Set([...makeRoom(), uid])) listeners.notify(changed);
  }

  return {
    /** Adds samples that a pod of the job pushed, or that a log has, oldest first. Later ones may come before. */
    record: (
      { uid }: { readonly uid: string },
      pod: PushingPod | undefined,
      samples: readonly CurveSample[],
    ) => changeOf(uid, (curves) => curves.record(pod, samples, clock.now())),
    mark: (uid: string, mark: CurveMark) =>
      changeOf(uid, (curves) => curves.mark(mark, clock.now())),
    /** Takes the marks of a kind away. */
    unmark: (uid: string, kind: CurveMark["kind"]) =>
      changeOf(uid, (curves) => curves.unmark(kind)),
    /** The job has ended: its curves give way first when room is needed. */
    end(uid: string): void {
      const kept = running.get(uid);
      if (kept === undefined) return;
      kept.hasEnded = true;
      put(uid, kept);
    },
    forget(uid: string): void {
      if (drop(uid)) listeners.notify(uid);
    },
    /** Returns undefined if nothing is kept. */
    curvesOf(uid: string, query: CurvesQuery = {}) {
      const kept = keptOf(uid);
      if (kept === undefined) return undefined;
      const { curves } = kept;
      return {
        /** Width of a bucket before buckets were merged for an answer. */
        widthMs: curves.widthMs,
        /** In the order in which they were named first, progress and step at the end; points of all begin at the same times. */
        metrics: curves.curves(query),
        /** By time. */
        marks: curves.marks,
      };
    },
    /** Returns the cursor of a job's curves: it changes with them, and with the store. */
    cursorOf(uid: string): string {
      const kept = keptOf(uid);
      if (kept === undefined) return id;
      return `${shapeOf(kept)}${kept.curves.recentMs}.${kept.version}`;
    },
    /** Returns what differs from the curves of that cursor: all of them if it is not known which those are. */
    newsOf(uid: string, cursor: string | undefined = ""): CurvesNews {
      const kept = keptOf(uid);
      if (kept === undefined) return { uid, metrics: [], marks: [] };
      const { curves } = kept;
      const shape = shapeOf(kept);
      const marks = [...curves.marks];
      if (!cursor.startsWith(shape)) return { uid, metrics: curves.curves({}), marks };
      const sinceMs = parseInt(cursor.slice(shape.length));
      return { uid, sinceMs, metrics: curves.curves({ fromMs: sinceMs }), marks };
    },
    /** Whether a pod of that UID has pushed samples of the job. */
    isPushedBy: (uid: string, podUid: string) => keptOf(uid)?.curves.isPushedBy(podUid) ?? false,
    /** Whether a sample of the job is kept, and not only marks. */
    hasSamples: (uid: string) => keptOf(uid)?.curves.hasSamples ?? false,
    /** The marks of a job, the same list until they change; undefined if nothing is kept. */
    marksOf: (uid: string) => keptOf(uid)?.curves.marks,
    /** Calls the listener after each change of a job's curves, also when they are dropped. Returns a function that ends this. */
    onChange: listeners.add,
    get jobs(): number {
      return jobs();
    },
    /** Bytes that all curves take, about. */
    get bytes(): number {
      return bytes;
    },
  };
}
