/** Answers of the page's API: a window of the list, and curves, as JSON. Pure. */
import type { JobRef, NamedJob } from "../../crds/job_kind.ts";
import { jobMessage } from "../../crds/wire/job_message.ts";
import type { ViewedCurves } from "../../crds/wire/curves_answer.ts";
import type { JobName, ListAnswer, ListWindow } from "../../crds/wire/row.ts";
import { type CurvesNews, kindOf, type ShownCurves } from "../../crds/wire/shown_curves.ts";
import type { ReaderScope } from "./scope.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";

/** Returns a window, with the kinds and namespaces that the reader may not list. */
export function listAnswer(
  { rows, total, states, kinds }: ListWindow,
  { denied }: Pick<ReaderScope, "denied">,
): ListAnswer {
  return { rows, total, states, kinds, ...(denied.length > 0 && { denied }) };
}

const time = (ms: number) => new Date(ms).toISOString();

/** Returns the curves of a job; the times of points are milliseconds since the epoch. */
function viewedCurves(job: JobRef, { sinceMs, metrics, marks }: CurvesNews): ViewedCurves {
  return {
    job: jobMessage(job),
    ...(sinceMs !== undefined && { since: sinceMs }),
    metrics: metrics.map(({ points, source, cut, ...curve }) => ({
      ...kindOf(curve),
      points,
      ...(source && { source }),
      ...(cut && { cut }),
    })),
    marks: marks.map(({ timeMs, kind, text }) => ({ time: time(timeMs), kind, text })),
  };
}

/** The JSON of curves that many viewers are given: it is written once for all of them. */
const written = new WeakMap<CurvesNews, string>();

function curvesJson(job: JobRef, news: CurvesNews): string {
  const known = written.get(news);
  if (known !== undefined) return known;
  const json = JSON.stringify(viewedCurves(job, news));
  written.set(news, json);
  return json;
}

/** The jobs of a question about curves. */
export interface AskedJobs {
  readonly seen: readonly JobRef[];
  /** Those that are not there for this reader. */
  readonly missing?: readonly NamedJob[];
  readonly ofUnknownKind?: readonly JobName[];
}

const nameOf = ({ kind, namespace, name }: NamedJob): JobName => ({
  kind: kind.id,
  namespace,
  name,
});

/** Returns what answers say of jobs that are not there; empty if nothing. */
export function missingJson({ missing = [], ofUnknownKind = [] }: AskedJobs): string {
  const gone = [...missing.map(nameOf), ...ofUnknownKind];
  return gone.length === 0 ? "" : `,"missing":${JSON.stringify(gone)}`;
}

/**
 * Returns the curves of jobs as answers of about a million characters, the first one also without a curve, because a
 * hundred jobs may have twenty times that. Each is written when it is asked for; `told` are the UIDs of its jobs.
 */
export function* curveAnswers(
  all: Iterable<CurvesNews>,
  jobs: AskedJobs,
) {
  const byUid = new Map(jobs.seen.map((job) => [job.uid, job]));
  const missing = missingJson(jobs);
  let [told, texts]: [string[], string[]] = [[], []];
  let characters = 0;
  const answer = () => ({ told, json: `{"curves":[${texts.join()}]${missing}}` });
  for (const news of all) {
    const job = byUid.get(news.uid);
    if (job === undefined) continue;
    const text = curvesJson(job, news);
    if (told.length > 0 && characters + text.length > CURVE_LIMITS.answerCharacters) {
      yield answer();
      [told, texts, characters] = [[], [], 0];
    }
    told.push(news.uid);
    texts.push(text);
    characters += text.length;
  }
  yield answer();
}

/** Returns the first of the answers about curves, which names the jobs that it has no room for. */
export function firstCurvesJson(
  { curves, left }: { readonly curves: readonly ShownCurves[]; readonly left: readonly string[] },
  jobs: AskedJobs,
): string {
  const [first] = curveAnswers(curves, jobs);
  const told = new Set(first?.told);
  const untold = new Set([...curves.map(({ uid }) => uid).filter((it) => !told.has(it)), ...left]);
  const json = first?.json ?? "";
  if (untold.size === 0) return json;
  const names = jobs.seen.filter(({ uid }) => untold.has(uid)).map(nameOf);
  return `${json.slice(0, -1)},"left":${JSON.stringify(names)}}`;
}
