/** Curves at the owner of all state: questions of replicas, their answers, and which curves have changed. */
import { z } from "zod";
import type { JobVersion, PollOwner } from "../../http/replicas/owner_poll.ts";
import { createWaitingPolls, type WaitingPolls } from "../../http/replicas/waiting_polls.ts";
import type { Clock } from "../../kube/clock.ts";
import type { CurveStore, JobCurves } from "../curves/curve_store.ts";
import { CURVE_LIMITS } from "./view_limits.ts";

const uid = z.string().min(1).max(128);
/** Changes with the curves, and with the owner. */
const cursor = z.string().max(256);

const askSchema = z.object({
  jobs: z.array(z.object({ uid, cursor: cursor.optional() })).max(CURVE_LIMITS.jobs),
  metrics: z.array(z.string().max(CURVE_LIMITS.metricNameLength)).max(CURVE_LIMITS.metrics)
    .optional(),
  points: z.int().min(1).max(CURVE_LIMITS.points),
  fromMs: z.number().optional(),
  toMs: z.number().optional(),
});

/** A question for the curves of jobs; of a job whose cursor is that given, for none. */
export type CurveAsk = Readonly<z.infer<typeof askSchema>>;

const point = z.tuple([z.number(), z.number(), z.number(), z.number()]);
const markSchema = z.object({
  timeMs: z.number(),
  kind: z.enum(["restarted", "suspended", "resumed", "pod", "stopped", "gap"]),
  text: z.string(),
});
const curvesSchema = z.object({
  uid,
  cursor,
  metrics: z.array(z.object({
    name: z.string(),
    isProgress: z.boolean().optional(),
    points: z.array(point),
  })),
  marks: z.array(markSchema),
});
const answerSchema = z.union([
  z.object({
    curves: z.array(curvesSchema),
    /** The jobs that this answer had no room for. */
    left: z.array(uid),
  }),
  z.object({ retryAfterMs: z.number().min(0), reason: z.string() }),
]);

/** The curves of one job. */
export type ShownCurves = Readonly<z.infer<typeof curvesSchema>>;
/** The owner's answer: curves, or when to come again. */
export type CurveAnswer = z.infer<typeof answerSchema>;

/** Reads an answer that came from the owner; undefined if it is no answer. */
export function parseCurveAnswer(value: unknown): CurveAnswer | undefined {
  return answerSchema.safeParse(value).data;
}

/** The curves of one term, with their cursors. */
interface Term {
  readonly store: CurveStore;
  readonly cursorOf: (uid: string) => string;
}

/** Returns the curves that have changed, as many as one answer has room for, and at least one. */
function answerCurves(
  { store, cursorOf }: Term,
  { jobs, ...query }: CurveAsk,
): { curves: ShownCurves[]; left: string[] } {
  const curves: ShownCurves[] = [];
  const left: string[] = [];
  let characters = 0;
  for (const job of jobs) {
    const cursor = cursorOf(job.uid);
    if (cursor === job.cursor) continue;
    if (characters > CURVE_LIMITS.answerCharacters) {
      left.push(job.uid);
      continue;
    }
    const { metrics = [], marks = [] } = store.curvesOf(job.uid, query) ?? {};
    const shown = { uid: job.uid, cursor, metrics: metrics.map(copied), marks: [...marks] };
    characters += JSON.stringify(shown).length;
    curves.push(shown);
  }
  return { curves, left };
}

/** A copy that the schema's types allow: the store's own is read-only. */
function copied(metric: JobCurves["metrics"][number]): ShownCurves["metrics"][number] {
  return { ...metric, points: metric.points.map(([at, min, max, last]) => [at, min, max, last]) };
}

/** The curves of the term that runs on this replica; without one nothing is answered. */
export interface OwnedCurves {
  /** Resolves with undefined if no term runs here. */
  answer(ask: CurveAsk): Promise<CurveAnswer | undefined>;
  /** The same for a question as another replica sends it; undefined also if it is not understood. */
  answerForwarded(ask: unknown): Promise<CurveAnswer | undefined>;
  /** Returns the jobs whose curves differ from their cursors; undefined if no term runs here. */
  readonly poll: PollOwner<JobVersion>;
  /** Ends all waits. */
  close(): void;
}

/** One term, with the polls that wait in it. */
interface OpenTerm extends Term {
  readonly polls: WaitingPolls<JobVersion>;
  close(): void;
}

function openTerm(store: CurveStore, clock: Clock): OpenTerm {
  const id = crypto.randomUUID();
  const cursorOf = (uid: string) => `${id}.${store.versionOf(uid)}`;
  const polls = createWaitingPolls({ read: ({ uid }) => ({ uid, cursor: cursorOf(uid) }), clock });
  const stop = store.onChange(polls.changed);
  return {
    store,
    cursorOf,
    polls,
    close() {
      stop();
      polls.close();
    },
  };
}

/** Creates {@link OwnedCurves}; `current` returns the curves of the term that runs here. */
export function createOwnedCurves(
  { clock, current }: {
    readonly clock: Clock;
    readonly current: () => CurveStore | undefined;
  },
): OwnedCurves {
  let term: OpenTerm | undefined;

  function termNow(): OpenTerm | undefined {
    const store = current();
    if (term?.store === store) return term;
    term?.close();
    term = store && openTerm(store, clock);
    return term;
  }

  function answer(ask: CurveAsk): Promise<CurveAnswer | undefined> {
    const now = termNow();
    return Promise.resolve(now && answerCurves(now, ask));
  }

  return {
    answer,
    async answerForwarded(value) {
      const ask = askSchema.safeParse(value).data;
      return ask && await answer(ask);
    },
    poll: async (entries, waitMs, signal) => await termNow()?.polls.poll(entries, waitMs, signal),
    close() {
      term?.close();
      term = undefined;
    },
  };
}
