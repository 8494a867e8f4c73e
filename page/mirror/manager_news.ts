/** News of the manager's stream, and its answers about curves, as the mirror reads them. Pure. */
import { z } from "zod";
import type { JobRef } from "../../crds/job_kind.ts";
import { CorruptStreamError } from "../../platform/kube/watching/watch.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";
import { readCurvesAnswer } from "../../crds/wire/curves_answer.ts";
import type { CurvesNews } from "../../crds/wire/shown_curves.ts";

const outageSchema = z.object({ reason: z.string() });

/** What the manager says. */
export type ManagerNews =
  | { readonly kind: "curves"; readonly all: readonly CurvesNews[] }
  /** It has no curves to give. */
  | { readonly kind: "outage"; readonly reason: string };

function parsedOf(event: string, data: string): ManagerNews | undefined {
  if (event === "outage") return { kind: "outage", ...outageSchema.parse(JSON.parse(data)) };
  const all = readCurvesAnswer(JSON.parse(data));
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
