/** Curves of many jobs, in requests of a bounded length that are made one after the other. */
import { MOST_JOBS } from "./job_key.ts";
import { type CurveNews, readCurves } from "./view_answers_read.ts";

/** Most characters of its path: proxies refuse lines of more than 8 KiB. */
const MOST_CHARACTERS = 6_000;

function pathOf(jobs: readonly string[], parameters: readonly (readonly [string, string])[]) {
  const query = new URLSearchParams([
    ...jobs.map((job) => ["job", job]),
    ...parameters.map(([name, value]) => [name, value]),
  ]);
  // A slash needs no escape there.
  return `/view/v1/curves?${query.toString().replaceAll("%2F", "/")}`;
}

/** Returns how many of the jobs one request has room for: at least one. */
function roomFor(jobs: readonly string[], parameters: readonly (readonly [string, string])[]) {
  let count = Math.min(jobs.length, MOST_JOBS);
  while (count > 1 && pathOf(jobs.slice(0, count), parameters).length > MOST_CHARACTERS) {
    count = Math.ceil(count * 0.8) - 1;
  }
  return Math.max(count, 1);
}

/** Returns the curves of the jobs of those keys; the parameters are the same for all. */
export async function curvesOf(
  keys: readonly string[],
  parameters: readonly (readonly [string, string])[],
  ask: (path: string) => Promise<Pick<Response, "json">>,
): Promise<CurveNews> {
  const all: { jobs: CurveNews["jobs"][number][]; missing: string[] } = { jobs: [], missing: [] };
  let waiting = [...keys];
  while (waiting.length > 0) {
    const asked = waiting.slice(0, roomFor(waiting, parameters));
    const answer = await (await ask(pathOf(asked, parameters))).json();
    const { jobs, missing, left = [] } = readCurves(answer);
    all.jobs.push(...jobs);
    all.missing.push(...missing);
    // An answer that says nothing of any job is not asked for again.
    const again = jobs.length + missing.length > 0 ? asked.filter((it) => left.includes(it)) : [];
    waiting = [...again, ...waiting.slice(asked.length)];
  }
  return all;
}
