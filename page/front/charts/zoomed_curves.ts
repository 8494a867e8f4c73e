/** Curves of a time range: asked for once the range is settled, and again while it reaches to the present. */
import { useMemo } from "preact/hooks";
import type { CURVE_LIMITS } from "../../../crds/wire/view_limits.ts";
import { call } from "../page_state.ts";
import { curvesOf } from "../feed/curve_requests.ts";
import { useRepeated } from "../feed/repeated_reading.ts";
import type { Curve } from "../feed/view_answers_read.ts";
import type { JobTimes } from "./zoom_range.ts";

/** What is asked for. */
export interface ZoomQuery {
  readonly jobs: readonly (JobTimes & { readonly key: string })[];
  readonly metrics: readonly string[];
}

/** Curves by the keys of their jobs; empty while they are asked for. */
export interface Zoomed {
  readonly byJob: ReadonlyMap<string, readonly Curve[]>;
  readonly isAsking: boolean;
  /** Why there are none, or no newer ones. */
  readonly problem: string;
}

/** Most metrics of a question. */
export const MOST_ZOOMED: typeof CURVE_LIMITS.metrics = 16;
/** How often a range that reaches to the present is asked for, and any other: the longest that a timer takes, in milliseconds. */
const [AGAIN_MS, NEVER_MS] = [5_000, 2 ** 31 - 1];

const time = (ms: number) => new Date(ms).toISOString();

/** Asks for the curves of each job. */
async function ask({ jobs, metrics }: ZoomQuery, signal: AbortSignal): Promise<Zoomed["byJob"]> {
  const all = await Promise.all(jobs.map(async ({ key, fromMs, toMs }) => {
    const parameters = [
      ["from", time(fromMs)] as const,
      ...(toMs === undefined ? [] : [["to", time(toMs)] as const]),
      ...metrics.map((name) => ["metric", name] as const),
    ];
    const news = await curvesOf([key], parameters, (path) => call(path, { signal }));
    return news.jobs;
  }));
  return new Map(all.flat().map(({ key, curves }) => [key, curves]));
}

const reachesPresent = ({ jobs }: ZoomQuery) =>
  jobs.some(({ toMs = Infinity }) => toMs > Date.now() - AGAIN_MS);

/** Returns what is known of a range; undefined while all of the time is shown. */
export function useZoomed(query: ZoomQuery | undefined): Zoomed | undefined {
  const text = query === undefined ? "" : JSON.stringify(query);
  const begin = () => async (signal: AbortSignal) =>
    query && { text, byJob: await ask(query, signal) };
  const isOpen = query !== undefined && reachesPresent(query);
  const { value, problem } = useRepeated(text, begin, isOpen ? AGAIN_MS : NEVER_MS, `${isOpen}`);
  return useMemo(() => {
    if (text === "") return undefined;
    // What was read of another range is none of this one.
    const known = value?.text === text ? value : undefined;
    return {
      byJob: known?.byJob ?? new Map(),
      isAsking: known === undefined && problem === undefined,
      problem: problem?.message ?? "",
    };
  }, [text, value, problem]);
}

/** Says what the lines of a chart were made of within the range. */
export function sourceText(
  { isAsking, problem }: Pick<Zoomed, "isAsking" | "problem">,
  curves: readonly Partial<Pick<Curve, "source" | "cut">>[],
): string {
  if (isAsking) return "Asking for finer points…";
  if (problem !== "") return `Finer points cannot be had now: ${problem}`;
  const fromLog = curves.filter(({ source }) => source === "log");
  if (fromLog.length === 0) return "As kept: 128 buckets over the whole time.";
  const cut = fromLog.some(({ cut }) => cut) ? ", which has not all of this range" : "";
  const others = fromLog.length < curves.length ? " where there is one, else as kept" : "";
  return `From the log${others}${cut}.`;
}
