/** State of what is shown, and how news change it. Pure. */
import type { Backoff } from "../../../platform/base/backoff.ts";
import {
  type Curve,
  type CurveNews,
  isSameCurve,
  type JobCurves,
  type JobNews,
  type ListNews,
} from "./view_answers_read.ts";

/** The window of the list. */
export type ListState = Omit<ListNews, "order">;

/** Returns the list after news; rows that did not change stay the same objects. */
export function listAfter(before: ListState | undefined, news: ListNews): ListState {
  const byUid = new Map(before?.rows.map((row) => [row.uid, row]));
  for (const row of news.rows) byUid.set(row.uid, row);
  const { order = news.rows.map(({ uid }) => uid), ...state } = news;
  return { ...state, rows: order.flatMap((uid) => byUid.get(uid) ?? []) };
}

/** Rows that change in one frame, which has 8 ms for all; of very many a twelfth. */
const [ROWS_A_FRAME, PART_A_FRAME] = [5, 1 / 12];

/** Returns the first of many changes, for one frame, and those that are left for later frames. */
export function frameOf<T>(changes: readonly T[]): { now: readonly T[]; later: readonly T[] } {
  const count = Math.max(ROWS_A_FRAME, Math.ceil(changes.length * PART_A_FRAME));
  return { now: changes.slice(0, count), later: changes.slice(count) };
}

/** Returns the part of news that one frame shows, and what is left of them. Rows that were not there come at once. */
export function newsOfFrame(
  before: ListState | undefined,
  news: ListNews,
): { now: ListNews; later: ListNews | undefined } {
  const known = new Set(before?.rows.map(({ uid }) => uid));
  const { later } = frameOf(news.rows.filter(({ uid }) => known.has(uid)));
  const isLater = new Set(later);
  return {
    now: { ...news, rows: news.rows.filter((row) => !isLater.has(row)) },
    later: later.length === 0 ? undefined : { ...news, rows: later },
  };
}

/** Returns news that were not shown yet together with newer ones. */
export function joinedNews(older: ListNews | undefined, newer: ListNews): ListNews {
  const rows = new Map([...older?.rows ?? [], ...newer.rows].map((row) => [row.uid, row]));
  const order = newer.order ?? newer.rows.map(({ uid }) => uid);
  // Of a hidden tab, which has no frames, more and more would wait.
  return { ...newer, order, rows: order.flatMap((uid) => rows.get(uid) ?? []) };
}

/** Curves by the keys of their jobs. */
export interface CurveState {
  readonly byJob: ReadonlyMap<string, JobCurves>;
  readonly missing: ReadonlySet<string>;
}

/** Returns the curves of a job after news of them. */
function jobAfter(
  before: JobCurves | undefined,
  { key, sinceMs, curves, marks }: JobNews,
): JobCurves {
  const pointsBefore = (curve: Curve, sinceMs: number) =>
    before?.curves.find((it) => isSameCurve(it, curve))?.points
      .filter(([timeMs]) => timeMs < sinceMs) ?? [];
  const all = sinceMs === undefined ? curves : curves.map((curve) => ({
    ...curve,
    points: [...pointsBefore(curve, sinceMs), ...curve.points],
  }));
  return { key, curves: all, marks };
}

/** Returns the curves after news. */
export function curvesAfter(before: CurveState | undefined, news: CurveNews): CurveState {
  const byJob = new Map(before?.byJob);
  for (const job of news.jobs) {
    const known = byJob.get(job.key);
    // Without those before, all of them are about to come.
    if (known !== undefined || job.sinceMs === undefined) byJob.set(job.key, jobAfter(known, job));
  }
  const missing = new Set(news.missing);
  for (const key of missing) byJob.delete(key);
  return { byJob, missing };
}

/** The connection to the server. */
export type Connection =
  | { readonly phase: "connecting" }
  | { readonly phase: "live" }
  /** `sinceMs`: when the last news can have come. */
  | { readonly phase: "down"; readonly sinceMs: number; readonly reason: string }
  /** It does not come back by itself. */
  | { readonly phase: "refused"; readonly status: number; readonly reason: string };

/** A feed: one stream that comes back by itself. */
export interface FeedOptions {
  readonly path: string;
  readonly key: string;
  readonly onEvent: (event: string, data: unknown) => void;
  readonly onConnection: (connection: Connection) => void;
}

/** Opens a feed. Returns a function that closes it. */
export type OpenFeed = (options: FeedOptions) => () => void;

/** Returns the connection after a failure: it is down since the first one. */
export function connectionAfterFailure(
  before: Connection,
  nowMs: number,
  reason: string,
): Connection {
  return { phase: "down", sinceMs: before.phase === "down" ? before.sinceMs : nowMs, reason };
}

/** Bounds of the time between two tries. */
export const RETRY: Backoff = { firstMs: 500, longestMs: 20_000 };
