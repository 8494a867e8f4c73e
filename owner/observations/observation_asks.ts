/** Questions for the observations of a job, and their answers. */
import type { JobRef } from "../../crds/job_kind.ts";
import { z } from "zod";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { jobMessage, jobMessageSchema } from "../../crds/wire/job_message.ts";
import { nameSchema, refusedSchema } from "../../crds/wire/message_fields.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { AskKind } from "../ask_kind.ts";
import { SinkError } from "./sink.ts";
import { type ObservationRow } from "../../trials/recording/observation_row.ts";
import {
  logRowSchema,
  metricSchema,
  OBSERVATION_LIMITS,
  type Position,
  positionSchema,
} from "../../crds/wire/observation.ts";
import type { ObservationReader } from "./observations.ts";

const askSchemaOf = (kinds: JobKinds) =>
  z.object({
    job: jobMessageSchema(kinds),
    from: positionSchema.optional(),
    limit: z.int().min(1).max(OBSERVATION_LIMITS.maxPage),
  });

/** A page of the log of one job, and what is known of it. */
export interface ObservationAsk {
  readonly job: JobRef;
  /** Absent: from the beginning. */
  readonly from?: Position | undefined;
  /** 1 to the most rows of a page. */
  readonly limit: number;
}

/** Most jobs of one question: their names and UIDs fit into a message between replicas. */
export const PAGES_PER_ASK = 24;

/** A question for pages of the logs of several jobs. */
export interface PagesAsk {
  readonly pages: readonly ObservationAsk[];
}

const pageSchema = z.object({
  rows: z.array(logRowSchema),
  more: z.boolean(),
  /** Whether whoever follows the log hears of all its rows. */
  isTold: z.boolean().optional(),
});
const seenSchema = pageSchema.extend({
  trial: nameSchema.optional(),
  primaryPod: nameSchema.optional(),
  metrics: z.array(metricSchema),
});
const answerSchema = z.union([seenSchema, refusedSchema]);
const pageAnswerSchema = z.union([pageSchema, refusedSchema]);
const pagesAnswerSchema = z.union([z.object({ pages: z.array(pageAnswerSchema) }), refusedSchema]);

/** Rows of a log behind a position. */
export type SeenPage = z.infer<typeof pageSchema>;
/** Those, or when to come again. */
export type PageAnswer = z.infer<typeof pageAnswerSchema>;
/** A page for each job that was asked about, in their order; or when to come again for all. */
export type PagesAnswer = z.infer<typeof pagesAnswerSchema>;

/** The owner's rows and state of a job; empty if there are none. */
export type ObservationSeen = z.infer<typeof seenSchema>;
/** The owner's answer: the log, or when to come again. */
export type ObservationAnswer = z.infer<typeof answerSchema>;

/** Characters of rows that an answer holds before it leaves the rest to the next page. */
const PAGE_CHARACTERS = 1_048_576;
/** Pages of one answer that are read at a time. */
const READS_AT_A_TIME = 8;
const NOTHING: SeenPage = { rows: [], more: false };
/** The page of a log for which an answer had no room. */
const NOT_READ: SeenPage = { rows: [], more: true };

/** Room of an answer, which the rows of its pages take one after the other. */
class Room {
  #left = PAGE_CHARACTERS;

  get isTaken(): boolean {
    return this.#left <= 0;
  }

  /** Returns the rows that fit, at least one: others also write to Katib's log. */
  take(rows: readonly ObservationRow[]): SeenPage["rows"] {
    const end = rows.findIndex(({ name, value }, index) => {
      const characters = name.length + value.length + 128;
      if (index > 0 && characters > this.#left) return true;
      this.#left -= characters;
      return false;
    });
    return rows.slice(0, end < 0 ? rows.length : end).map(({ time, name, value, step, run }) => ({
      time,
      name,
      value,
      ...(step !== undefined && { step }),
      ...(run !== undefined && { podUid: run }),
    }));
  }
}

/** Reads a page, as far as there is room; undefined if nothing of the job is recorded. */
async function readPage(
  source: ObservationReader,
  { job, from, limit }: ObservationAsk,
  { signal, room = new Room() }: { readonly signal: AbortSignal; readonly room?: Room },
): Promise<SeenPage | undefined> {
  const page = await source.pageOf(job, { since: from?.time, seen: from?.seen, limit }, signal);
  if (page === undefined) return undefined;
  const rows = room.take(page.rows);
  return { rows, more: page.more || rows.length < page.rows.length, isTold: page.isTold };
}

async function observe(
  source: ObservationReader,
  ask: ObservationAsk,
  signal: AbortSignal,
): Promise<ObservationSeen> {
  const page = await readPage(source, ask, { signal });
  if (page === undefined) return { metrics: [], ...NOTHING };
  // After the page: a row that is shown is in its metric's summary.
  const { plan, primaryPod, metrics = [] } = await source.snapshotOf(ask.job, signal) ?? {};
  return {
    ...(plan?.key.kind === "trial" ? { trial: plan.key.name } : {}),
    ...(primaryPod === undefined ? {} : { primaryPod }),
    metrics: metrics.map(({ name, latest, min, max }) => ({ name, latest, min, max })),
    ...page,
  };
}

/** Returns what is read, or when to come again if the log is out of reach. */
async function ifInReach<Read>(read: () => Promise<Read>) {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof SinkError)) throw error;
    const reason = `the observation log is out of reach: ${messageOf(error)}`;
    return { retryAfterMs: error.retryAfterMs, reason };
  }
}

/** Returns the owner's answer to a question. A log that is out of reach gives an answer, too. */
export const answerAsk = (
  source: ObservationReader,
  ask: ObservationAsk,
  signal: AbortSignal,
): Promise<ObservationAnswer> => ifInReach(() => observe(source, ask, signal));

/**
 * Returns the owner's answer to a question for many pages, which have the room of one answer together: what has none is
 * left, as a page without rows that has more.
 */
export async function answerPages(
  source: ObservationReader,
  { pages }: PagesAsk,
  signal: AbortSignal,
): Promise<PagesAnswer> {
  const answers = pages.map((): PageAnswer => NOT_READ);
  const room = new Room();
  const [error] = await inParallel([...pages.entries()], async ([index, ask]) => {
    if (room.isTaken) return;
    answers[index] = await ifInReach(async () =>
      await readPage(source, ask, { signal, room }) ?? NOTHING
    );
  }, { limit: READS_AT_A_TIME, signal });
  if (error !== undefined) throw error;
  return { pages: answers };
}

/** Questions for observations. */
export function observationAsks(kinds: JobKinds): AskKind<ObservationAsk, ObservationAnswer> {
  return {
    name: "observation",
    write: (ask) => ({ ...ask, job: jobMessage(ask.job) }),
    schemas: { ask: askSchemaOf(kinds), answer: answerSchema },
    answer: async ({ observations }, ask, signal) =>
      observations && await answerAsk(observations, ask, signal),
  };
}

/** Questions for pages of several logs. */
export function pagesAsks(kinds: JobKinds): AskKind<PagesAsk, PagesAnswer> {
  const ask = z.object({ pages: z.array(askSchemaOf(kinds)).max(PAGES_PER_ASK) });
  return {
    name: "observation-pages",
    write: ({ pages }) => ({ pages: pages.map((it) => ({ ...it, job: jobMessage(it.job) })) }),
    schemas: { ask, answer: pagesAnswerSchema },
    answer: async ({ observations }, ask, signal) =>
      observations && await answerPages(observations, ask, signal),
  };
}
