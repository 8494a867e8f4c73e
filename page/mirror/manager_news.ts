/** News of the manager's stream, and its answers about curves, as the mirror reads them. Pure. */
import { z } from "zod";
import type { JobRef } from "../../crds/job_kind.ts";
import { CorruptStreamError } from "../../platform/kube/watching/watch.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";
import type { CurvesShown } from "./held_curves.ts";

type Points = CurvesShown["metrics"][number]["points"];

/** By hand: there may be a million numbers a second. */
const isPoint = (it: unknown) =>
  Array.isArray(it) && it.length === 4 && it.every((number) => Number.isFinite(number));
const points = z.custom<Points>((it) =>
  Array.isArray(it) && it.length <= CURVE_LIMITS.points && it.every(isPoint)
);

const MARK_KINDS = ["restarted", "suspended", "resumed", "pod", "stopped", "gap"] as const;
const mark = z.object({
  time: z.string().transform((text) => Date.parse(text)).pipe(z.number()),
  kind: z.enum(MARK_KINDS),
  text: z.string(),
}).transform(({ time: timeMs, ...rest }) => ({ timeMs, ...rest }));

const newsSchema = z.object({
  curves: z.array(z.object({
    job: z.object({ uid: z.string() }),
    metrics: z.array(z.object({
      name: z.string(),
      isProgress: z.literal(true).optional(),
      points,
      source: z.enum(["log", "curve"]).optional(),
      cut: z.boolean().optional(),
    })),
    // A newer manager may have marks of other kinds.
    marks: z.array(mark.or(z.unknown().transform(() => undefined))),
  })).max(CURVE_LIMITS.jobs),
});
const outageSchema = z.object({ reason: z.string() });

/** Curves of a job by its UID. */
export interface CurvesOfUid {
  readonly uid: string;
  readonly curves: CurvesShown;
}

/** What the manager says. */
export type ManagerNews =
  | { readonly kind: "curves"; readonly all: readonly CurvesOfUid[] }
  /** It has no curves to give. */
  | { readonly kind: "outage"; readonly reason: string };

/** Reads curves; undefined if they cannot be read. */
export function readNews(value: unknown): readonly CurvesOfUid[] | undefined {
  return newsSchema.safeParse(value).data?.curves.map(({ job, metrics, marks }) => ({
    uid: job.uid,
    curves: { metrics, marks: marks.filter((it) => it !== undefined) },
  }));
}

function parsedOf(event: string, data: string): ManagerNews | undefined {
  if (event === "outage") return { kind: "outage", ...outageSchema.parse(JSON.parse(data)) };
  const all = readNews(JSON.parse(data));
  return all && { kind: "curves", all };
}

/** Reads an event of the stream; undefined for one that says nothing of curves. Throws a {@link CorruptStreamError}. */
export function readEvent(event: string, data: string): ManagerNews | undefined {
  if (event !== "curves" && event !== "outage") return undefined;
  const message = "the manager's curves cannot be read: is it of another version?";
  try {
    const news = parsedOf(event, data);
    if (news !== undefined) return news;
  } catch (cause) {
    throw new CorruptStreamError(message, { cause });
  }
  throw new CorruptStreamError(message);
}

const idOf = ({ kind, namespace, name }: JobRef) => `${kind.id}/${namespace}/${name}`;

/** Returns the parameters that name jobs. */
export const jobParameters = (jobs: readonly JobRef[]): [string, string][] =>
  [...new Set(jobs.map(idOf))].map((id) => ["job", id]);

/** Returns parameters as a path has them. */
export const queryText = (parameters: [string, string][]) =>
  new URLSearchParams(parameters).toString().replaceAll("%2F", "/");

/** Returns what the path of a stream has for its jobs. */
export function streamParameters(jobs: readonly JobRef[]): [string, string][] {
  const of = (name: string, values: readonly string[]): [string, string][] =>
    [...new Set(values)].map((value) => [name, value]);
  return [
    ...of("kind", jobs.map(({ kind }) => kind.id)),
    ...of("namespace", jobs.map(({ namespace }) => namespace)),
    ...jobParameters(jobs),
  ];
}

/**
 * Returns the path of the stream of some jobs. It begins with a list, of which no row is wanted: no name of a job has
 * a slash.
 */
export function streamPath(jobs: readonly JobRef[]): string {
  const parameters = queryText([
    ["limit", "1"],
    ["text", "//"],
    ["points", String(CURVE_LIMITS.points)],
    ...streamParameters(jobs),
  ]);
  return `/view/v1/events?${parameters}`;
}
