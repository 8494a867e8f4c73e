/** Bounds of what is read for the page. */
import { PUSH_LIMITS } from "../names.ts";

/** Bounds of a stream. */
export const VIEW_LIMITS = {
  /** Lists of one stream; so many, or fewer, count as one stream. */
  lists: 16,
  listsOfPlace: 4,
} as const;

/** Bounds of a query of curves, and of answers. */
export const CURVE_LIMITS = {
  jobs: 100,
  /** Metrics that a query names. */
  metrics: 16,
  metricNameLength: PUSH_LIMITS.metricNameLength,
  /** Points of a curve. */
  points: 128,
  /** The same if the query does not say. */
  defaultPoints: 128,
  /** Characters of one answer: further jobs come with the next one. */
  answerCharacters: 1_000_000,
} as const;

/** Bounds of zooming into logs. */
export const ZOOM_LIMITS = {
  /** Jobs of one query; the others are shown by their curves. */
  jobs: 8,
  /** Logs that are read at a time, and those that are read or wait for it: beyond that curves have to do. */
  logsAtOnce: 1,
  waiting: 64,
  /** Rows of one log, and of one part, after which other work comes first. */
  rows: 50_000,
  rowsOfPart: 250,
  /** Pause after a part, as a multiple of the time that it took. */
  pausePerPart: 4,
  /** Time for one query, in milliseconds: replicas wait 2 s for the owner. */
  deadlineMs: 1_500,
} as const;
