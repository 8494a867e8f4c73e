/** Questions for the observations of a job, and their answers. */
import type { JobRef } from "../../crds/job_kind.ts";
import { z } from "zod";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { jobMessage, jobMessageSchema } from "../../crds/wire/job_message.ts";
import { nameSchema, refusedSchema } from "../../crds/wire/message_fields.ts";
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

const seenSchema = z.object({
  trial: nameSchema.optional(),
  primaryPod: nameSchema.optional(),
  metrics: z.array(metricSchema),
  rows: z.array(logRowSchema),
  more: z.boolean(),
  /** Whether whoever follows the log hears of all its rows. */
  isTold: z.boolean().optional(),
});
const answerSchema = z.union([seenSchema, refusedSchema]);

/** The owner's rows and state of a job; empty if there are none. */
export type ObservationSeen = z.infer<typeof seenSchema>;
/** The owner's answer: the log, or when to come again. */
export type ObservationAnswer = z.infer<typeof answerSchema>;

/** Characters of rows that an answer holds before it leaves the rest to the next page. */
const PAGE_CHARACTERS = 1_048_576;
const NOTHING: ObservationSeen = { metrics: [], rows: [], more: false };

/** Returns the rows that one answer has room for, at least one: others also write to Katib's log. */
function rowsThatFit(rows: readonly ObservationRow[]): ObservationRow[] {
  let characters = 0;
  const end = rows.findIndex(({ name, value }, index) => {
    characters += name.length + value.length + 64;
    return index > 0 && characters > PAGE_CHARACTERS;
  });
  return rows.slice(0, end < 0 ? rows.length : end).map(({ time, name, value }) => ({
    time,
    name,
    value,
  }));
}

async function observe(
  source: ObservationReader,
  { job, from, limit }: ObservationAsk,
  signal: AbortSignal,
): Promise<ObservationSeen> {
  const page = await source.pageOf(job, { since: from?.time, seen: from?.seen, limit }, signal);
  if (page === undefined) return NOTHING;
  // After the page: a row that is shown is in its metric's summary.
  const snapshot = await source.snapshotOf(job, signal);
  const rows = rowsThatFit(page.rows);
  const { plan, primaryPod, metrics = [], isTold } = snapshot ?? {};
  return {
    ...(plan?.key.kind === "trial" ? { trial: plan.key.name } : {}),
    ...(primaryPod === undefined ? {} : { primaryPod }),
    metrics: metrics.map(({ name, latest, min, max }) => ({ name, latest, min, max })),
    rows,
    more: page.more || rows.length < page.rows.length,
    isTold,
  };
}

/** Returns the owner's answer to a question. A log that is out of reach gives an answer, too. */
export async function answerAsk(
  source: ObservationReader,
  ask: ObservationAsk,
  signal: AbortSignal,
): Promise<ObservationAnswer> {
  try {
    return await observe(source, ask, signal);
  } catch (error) {
    if (!(error instanceof SinkError)) throw error;
    const reason = `the observation log is out of reach: ${messageOf(error)}`;
    return { retryAfterMs: error.retryAfterMs, reason };
  }
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
