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
  /** Of those, the ones of a time range whose logs are read; the others are shown by their curves. */
  logs: 8,
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
