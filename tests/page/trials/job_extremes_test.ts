/** Tests of the least and greatest values of jobs that no Trial controls. */
import assert from "node:assert/strict";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { withExtremes } from "../../../page/trials/job_extremes.ts";
import { readJob, trialsOfJobs } from "../../../page/trials/labelled_jobs.ts";
import { shownSearch } from "../../../page/trials/shown_search.ts";
import { answeringClient, never } from "../../support/answering_client.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const TIME = "2026-01-01T00:00:00Z";
const OF_TRIAL = [{
  apiVersion: "kubeflow.org/v1beta1",
  kind: "Trial",
  name: "t",
  uid: "t",
  controller: true,
}];

/** A job that is complete, with its newest loss. */
const jobOf = (name: string, loss: string, ownerReferences: typeof OF_TRIAL = []) =>
  readJob(TRAINJOB, {
    apiVersion: TRAINJOB.apiVersion,
    kind: TRAINJOB.kind,
    metadata: {
      name,
      namespace: "ns",
      uid: `uid-${name}`,
      creationTimestamp: TIME,
      ownerReferences,
    },
    status: {
      conditions: [{ type: "Complete", status: "True", lastTransitionTime: TIME }],
      trainerStatus: { lastUpdatedTime: TIME, metrics: [{ name: "loss", value: loss }] },
    },
  });

/** The least and the greatest loss, as a curve has them. */
const EXTREMES: Readonly<Record<string, readonly [min: number, max: number]>> = {
  a: [Math.fround(0.1), 9],
  b: [0.5, 4],
};
const curveOf = (name: string) => {
  const [min, max] = EXTREMES[name] ?? [NaN, NaN];
  const metrics = name in EXTREMES ? [{ name: "loss", points: [[0, min, max, max]] }] : [];
  return { job: { uid: `uid-${name}` }, metrics, marks: [] };
};

/** Reads jobs by a manager that answers that. */
function start(answer: (names: string[], signal: AbortSignal) => Response | Promise<Response>) {
  const clock = new FakeClock();
  const asked: string[][] = [];
  const manager = answeringClient(({ path }, signal) => {
    const query = new URLSearchParams(path.slice(path.indexOf("?")));
    assert.equal(query.get("points"), "1");
    const names = query.getAll("job").map((it) => it.split("/").at(-1) ?? "");
    asked.push(names);
    return answer(names, signal);
  }, clock);
  const reader = {
    client: manager,
    manager,
    signal: new AbortController().signal,
    budget: { bytes: 0 },
    kinds: JOB_KINDS,
    viewer: "v",
  };
  const read = (jobs: Parameters<typeof withExtremes>[1]) => withExtremes(reader, jobs, clock);
  return { clock, asked, read };
}
const curves = (names: string[]) => Response.json({ curves: names.map(curveOf) });

const shown = (
  jobs: Awaited<ReturnType<typeof withExtremes>>,
  direction?: "minimize" | "maximize",
) => {
  const { objective, best, trials } = shownSearch({
    kind: "k",
    namespace: "ns",
    name: "s",
    state: "Complete",
    notes: [],
    strategies: new Map(),
    objective: { metric: "loss", ...(direction && { direction }) },
    parameters: [],
    trials: trialsOfJobs(jobs),
  });
  return [objective?.strategy, best, ...trials.map(({ value }) => value)];
};

Deno.test("jobs are compared by the least or the greatest value of their curves, else by the newest", async () => {
  const { read } = start(curves);
  const jobs = await read([jobOf("a", "3"), jobOf("b", "2"), jobOf("c", "2.5")]);
  assert.deepEqual(shown(jobs, "minimize"), ["min", "a", 0.1, 0.5, 2.5]);
  assert.deepEqual(shown(jobs, "maximize"), ["max", "a", 9, 4, 2.5]);
  assert.deepEqual(shown(jobs), ["latest", undefined, 3, 2, 2.5]);
});

Deno.test("no more than the jobs that no Trial controls are asked for, a hundred at a time", async () => {
  const { read, asked } = start(curves);
  const many = Array.from({ length: 101 }, (_, index) => jobOf(`j-${index}`, "1"));
  await read([jobOf("t", "1", OF_TRIAL), ...many]);
  assert.deepEqual(asked.map(({ length }) => length), [100, 1]);
  assert.ok(!asked.flat().includes("t"));
});

Deno.test("of jobs whose manager refuses the newest values count", async () => {
  const { read } = start(() => new Response("no", { status: 403 }));
  assert.deepEqual(shown(await read([jobOf("a", "3")]), "minimize"), ["latest", "a", 3]);
});

Deno.test("a search does not wait long for a manager that says nothing", async () => {
  const { read, clock } = start((_, signal) => never(signal));
  const jobs = read([jobOf("a", "3")]);
  await clock.advance(5_000);
  assert.deepEqual(shown(await jobs, "minimize"), ["latest", "a", 3]);
});
