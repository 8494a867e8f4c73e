/** History of a job: what is kept beside its log to be shown, and no rule reads. */
import { z } from "zod";
import type { JobRef } from "../../crds/job_kind.ts";
import { type CurveMark, markSchema } from "../../crds/wire/shown_curves.ts";
import type { LogKey } from "../../trials/recording/observation_row.ts";

/** Progress and step at one time. */
export interface Moment {
  /** Milliseconds since the epoch; a job has one moment at a time. */
  readonly timeMs: number;
  /** 0 to 100. */
  readonly progress?: number | undefined;
  readonly step?: number | undefined;
}

/** What is kept of a job. */
export interface JobHistory {
  /** By time. Of more than {@link HISTORY_LIMITS} has, the last of each of equal parts of the time are kept. */
  readonly moments: readonly Moment[];
  readonly marks: readonly CurveMark[];
}

/** What is new of a job. */
export interface HistoryNews {
  readonly moments?: readonly Moment[] | undefined;
  /** All marks of the job; absent: they stay as they are. */
  readonly marks?: readonly CurveMark[] | undefined;
  /** When the job ended, in milliseconds since the epoch: from then on its log may give way to others. */
  readonly endedMs?: number | undefined;
}

/** Keeps histories. Calls reject with a SinkError. */
export interface HistoryStore {
  /** Resolves with whether they are kept: Katib's DB manager keeps none. Nothing is doubled by a second call. */
  keep(
    news: readonly (HistoryNews & { readonly key: LogKey })[],
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Resolves with undefined where none are kept. */
  read(key: LogKey, signal: AbortSignal): Promise<JobHistory | undefined>;
}

/** The same, where the log is not known yet. */
export interface JobNews extends HistoryNews {
  readonly job: JobRef;
}

/** Histories of jobs, by the logs that the jobs have. Calls reject with a SinkError, within the deadline of the sink. */
export interface JobHistories {
  /** Whether the sink may keep them. */
  readonly areKept: boolean;
  /** Resolves with what is to be kept later: it is not known now where the logs of those jobs are. */
  keep(news: readonly JobNews[], signal: AbortSignal): Promise<readonly JobNews[]>;
  /** Resolves with undefined if no history of the job is kept. */
  read(job: JobRef, signal: AbortSignal): Promise<JobHistory | undefined>;
}

/** Bounds of histories. */
export const HISTORY_LIMITS = {
  /** Moments of a job. */
  moments: 4_096,
  /** Jobs, and moments, of one call. */
  jobsOfCall: 200,
  momentsOfCall: 10_000,
} as const;

const momentSchema = z.object({
  timeMs: z.int(),
  progress: z.number().optional(),
  step: z.number().optional(),
});

/** Schema of the marks of a history as JSON; a newer version may have marks of other kinds. */
export const marksSchema = z.array(markSchema.or(z.unknown().transform(() => undefined)))
  .transform((marks) => marks.filter((it) => it !== undefined));

/** Schemas of histories as JSON. */
export const historySchema = z.object({ moments: z.array(momentSchema), marks: marksSchema });
export const historyNewsSchema = historySchema.partial().extend({ endedMs: z.int().optional() });
