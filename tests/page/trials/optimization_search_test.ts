/** Tests of OptimizationJobs as searches: what is read of them, of their trials and records, and what may not be read. */
import assert from "node:assert/strict";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import type { OptimizationJob, SearchSpace } from "../../../crds/optimization_job.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { isForbidden } from "../../../platform/kube/errors.ts";
import {
  OPTIMIZATION_JOBS,
  parameterOf,
  readOptimizationJob,
} from "../../../page/trials/optimization_objects.ts";
import { OPTIMIZATION_SEARCHES } from "../../../page/trials/optimization_search.ts";
import { SEARCH_LIMITS } from "../../../page/trials/search.ts";
import { listSearches } from "../../../page/trials/search_kinds.ts";
import { shownSearch } from "../../../page/trials/shown_search.ts";
import { boundedReads } from "../../../views/details/bounded_reads.ts";
import { type MadeUp, withAnswers } from "../../support/api_answers.ts";

const at = (minute: number) => new Date(Date.UTC(2026, 0, 31, 12, minute)).toISOString();
const TRAINER = "trainer.kubeflow.org/v1alpha1";

/** An OptimizationJob over a rate and an optimizer, as an API server gives it. */
const searchOf = (
  more: { status?: object; annotations?: Record<string, string>; spec?: object } = {},
): OptimizationJob =>
  KINDS.optimizationJob.parse({
    apiVersion: TRAINER,
    kind: "OptimizationJob",
    metadata: {
      name: "digits",
      namespace: "ns",
      uid: "oj",
      creationTimestamp: at(0),
      annotations: more.annotations,
    },
    spec: {
      objectives: [{ metric: "loss", direction: "Minimize" }],
      searchAlgorithm: { random: { seed: 7 } },
      parameters: [
        { name: "lr", searchSpace: { logUniform: { min: "1e-4", max: "0.1" } } },
        { name: "optimizer", searchSpace: { categorical: { choices: ["sgd", "adam"] } } },
      ],
      numTrials: 12,
      parallelTrials: 3,
      trainJobTemplate: { spec: { runtimeRef: { name: "r" } } },
      ...more.spec,
    },
    status: more.status,
  });

const held = (type: string, message: string, status = "True") => ({
  type,
  status,
  message,
  reason: "R",
  lastTransitionTime: at(50),
});

const spaces: Record<string, { space: SearchSpace; want: object }> = {
  "uniform": {
    space: { uniform: { min: "1", max: "2.5" } },
    want: { scale: "linear", min: 1, max: 2.5 },
  },
  "logUniform": {
    space: { logUniform: { min: "1e-5", max: "1e-1" } },
    want: { scale: "log", min: 1e-5, max: 0.1 },
  },
  "logUniform from 0, which another definition let pass": {
    space: { logUniform: { min: "0", max: "1" } },
    want: { scale: "linear", min: 0, max: 1 },
  },
  "categorical": {
    space: { categorical: { choices: ["sgd", "adam"] } },
    want: { scale: "list", list: ["sgd", "adam"] },
  },
};
for (const [name, { space, want }] of Object.entries(spaces)) {
  Deno.test(`an axis of a parameter: ${name}`, () =>
    assert.deepEqual(parameterOf({ name: "p", searchSpace: space }), { name: "p", ...want }));
}

const states: Record<string, { conditions: object[]; want: object }> = {
  "not begun": { conditions: [], want: { state: "Created" } },
  "that cannot begin": {
    conditions: [held("Created", "quota", "False")],
    want: { state: "Created", message: "quota" },
  },
  "that runs": {
    conditions: [held("Created", "made"), held("Running", "3 trials run")],
    want: { state: "Running", message: "3 trials run" },
  },
  "that is complete, and Running still": {
    conditions: [held("Running", "x"), held("Complete", "done")],
    want: { state: "Complete", message: "done", ended: at(50) },
  },
  "that has failed": {
    conditions: [held("Running", "x", "False"), held("Failed", "all failed")],
    want: { state: "Failed", message: "all failed", ended: at(50) },
  },
};
for (const [name, { conditions, want }] of Object.entries(states)) {
  Deno.test(`the state of a search ${name}`, () => {
    const { state, message, ended } =
      readOptimizationJob(searchOf({ status: { conditions } })).search;
    assert.deepEqual(JSON.parse(JSON.stringify({ state, message, ended })), want);
  });
}

const PRUNER = "trainer.kubeflow.org/pruner";
const notes: Record<string, { given: Parameters<typeof searchOf>[0]; want: string[] }> = {
  "a seed, and bounds": {
    given: {},
    want: ["Algorithm: random (seed 7)", "Bounds: 3 at once, 12 in all"],
  },
  "a grid without bounds": {
    given: {
      spec: { searchAlgorithm: { grid: {} }, numTrials: undefined, parallelTrials: undefined },
    },
    want: ["Algorithm: grid", "Bounds: 1 at once, 1 in all"],
  },
  "a pruner with its defaults": {
    given: { annotations: { [PRUNER]: '{"asha": {"min_resource": 2}}' } },
    want: [
      "Algorithm: random (seed 7)",
      "Pruner: asha (min_resource 2, reduction_factor 4, min_early_stopping_rate 0, bootstrap_count 0)",
      "Bounds: 3 at once, 12 in all",
    ],
  },
  "a pruner that is none": {
    given: { annotations: { [PRUNER]: "{" } },
    want: ["Algorithm: random (seed 7)", "Pruner: refused", "Bounds: 3 at once, 12 in all"],
  },
};
for (const [name, { given, want }] of Object.entries(notes)) {
  Deno.test(`a search says in words: ${name}`, () => {
    const said = readOptimizationJob(searchOf(given)).search.notes
      .map((it) => `${it.name}: ${it.text}`.replace(/refused: .+/, "refused"));
    assert.deepEqual(said, want);
  });
}

interface Job {
  uid?: string;
  owner?: string;
  labels?: Record<string, string>;
  loss?: string;
  end?: string;
  stop?: object;
}
const LABELLED = { "trainer.kubeflow.org/optimizationjob-name": "digits" };
/** The TrainJob of a trial. */
const job = (
  index: number,
  { uid, owner = "oj", labels = LABELLED, loss, end, stop }: Job = {},
) => ({
  apiVersion: TRAINER,
  kind: "TrainJob",
  metadata: {
    name: `digits-${index}`,
    namespace: "ns",
    uid: uid ?? `uid-${index}`,
    creationTimestamp: at(index),
    labels,
    ownerReferences: [{
      apiVersion: TRAINER,
      kind: "OptimizationJob",
      name: "digits",
      uid: owner,
      controller: true,
    }],
  },
  spec: {
    runtimeRef: { name: "r" },
    trainer: {
      env: [
        { name: "EPOCHS", value: "9" },
        { name: "KUBEFLOW_TRAINER_OPT_LR", value: `0.0${index}` },
        { name: "KUBEFLOW_TRAINER_OPT_optimizer", value: "sgd" },
      ],
    },
  },
  status: {
    state: "Running",
    ...(end && { conditions: [{ type: end, status: "True", lastTransitionTime: at(20 + index) }] }),
    ...(loss &&
      { trainerStatus: { lastUpdatedTime: at(9), metrics: [{ name: "loss", value: loss }] } }),
    ...(stop && { stop }),
  },
});
const PRUNED = {
  reason: "Pruned",
  message: "asha: loss 0.9 at step 3",
  time: at(9),
  graceSeconds: 0,
};

type Selected = Readonly<Record<string, readonly object[]>>;
/** An API server with a search, TrainJobs by the selector that finds them, and records. */
const cluster = (
  {
    search = searchOf({ status: { conditions: [held("Running", "")] } }),
    jobs = {},
    records = 404,
  }: {
    search?: OptimizationJob | number;
    jobs?: Selected | number;
    records?: MadeUp;
  },
) =>
({ path, query }: { path: string; query: URLSearchParams }): MadeUp => {
  const { pathname } = new URL(path, "http://x");
  const list = (kind: string, items: readonly object[]) => ({
    apiVersion: TRAINER,
    kind: `${kind}List`,
    metadata: { resourceVersion: "1" },
    items,
  });
  if (pathname.endsWith("/optimizationjobs")) {
    return typeof search === "number" ? search : list("OptimizationJob", [search]);
  }
  if (pathname.endsWith("/optimizationjobs/digits")) {
    return typeof search === "number" ? search : { ...search };
  }
  if (pathname.endsWith("/configmaps/digits-trials")) return records;
  if (pathname.endsWith("/configmaps")) {
    return typeof records === "object" ? list("ConfigMap", [records]) : 403;
  }
  if (!pathname.endsWith("/trainjobs")) return 404;
  const selector = query.get("labelSelector") ?? "";
  return typeof jobs === "number" ? jobs : list("TrainJob", jobs[selector] ?? []);
};

const reader = (client: Parameters<typeof boundedReads>[0]) => ({
  ...boundedReads(client, new AbortController().signal),
  kinds: JOB_KINDS,
  viewer: "v",
});
const KEY = { namespace: "ns", name: "digits" };
const WITH_LABEL = "trainer.kubeflow.org/optimizationjob-name=digits";
const WITHOUT_LABEL = "!trainer.kubeflow.org/optimizationjob-name";

/** Reads the search as it is shown, with the paths that were asked for. */
async function shownOf(given: Parameters<typeof cluster>[0]) {
  let shown: ReturnType<typeof shownSearch> | undefined;
  const paths: string[] = [];
  await withAnswers(cluster(given), async (client, asked) => {
    const found = await OPTIMIZATION_SEARCHES.read(reader(client), KEY);
    shown = found && shownSearch(found);
    paths.push(...asked.map((it) => it.query.get("labelSelector") ?? it.path));
  });
  return { shown, paths };
}

const record = (index: number, more: object = {}) =>
  JSON.stringify({
    name: `digits-${index}`,
    values: [`0.0${index}`, "adam"],
    created: at(index),
    uid: `uid-${index}`,
    state: "Running",
    ...more,
  });
const configMap = (data: Record<string, string>, uid = "oj") => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: "digits-trials",
    namespace: "ns",
    ownerReferences: [{
      apiVersion: TRAINER,
      kind: "OptimizationJob",
      name: "digits",
      uid,
      controller: true,
    }],
  },
  data,
});

Deno.test("trials are the TrainJobs that the search controls, with the values of their variables", async () => {
  const jobs = [
    job(1, { loss: "0.5", end: "Complete" }),
    job(2, { loss: "0.1", end: "EarlyStopped", stop: PRUNED }),
    job(3, { loss: "0.2" }),
    job(4, { loss: "0.3", end: "Complete" }),
    job(5, { owner: "another of that name", loss: "0", end: "Complete" }),
  ];
  const { shown, paths } = await shownOf({ jobs: { [WITH_LABEL]: jobs } });
  assert.ok(shown !== undefined);
  assert.deepEqual(
    shown.trials.map(({ name, state, value, values }) => [name, state, value, ...values]),
    [
      ["digits-1", "Complete", 0.5, "0.01", "sgd"],
      ["digits-2", "EarlyStopped", 0.1, "0.02", "sgd"],
      ["digits-3", "Running", 0.2, "0.03", "sgd"],
      ["digits-4", "Complete", 0.3, "0.04", "sgd"],
    ],
  );
  assert.equal(shown.best, "digits-4", "one that was pruned, or runs, is never the best");
  assert.deepEqual(shown.objective, { metric: "loss", direction: "minimize", strategy: "latest" });
  assert.deepEqual(shown.trials[1]?.stop, {
    by: "pruner",
    text: "Pruned: asha: loss 0.9 at step 3",
  });
  assert.deepEqual(shown.stops, [{ text: "Pruned", trials: ["digits-2"] }]);
  assert.ok(!paths.includes(WITHOUT_LABEL));
  assert.ok(!("counting" in shown));
});

Deno.test("trials of a controller that sets no label are found by what controls them", async () => {
  const { shown } = await shownOf({ jobs: { [WITHOUT_LABEL]: [job(1, { labels: {} })] } });
  assert.deepEqual(shown?.trials.map(({ name }) => name), ["digits-1"]);
});

Deno.test("jobs without the label are not read for a search that nobody has begun with", async () => {
  const { shown, paths } = await shownOf({ search: searchOf() });
  assert.deepEqual(shown?.trials, []);
  assert.ok(!paths.includes(WITHOUT_LABEL));
});

Deno.test("records say of trials what their jobs do not: values, reasons, and jobs that are gone", async () => {
  const { shown } = await shownOf({
    jobs: {
      [WITH_LABEL]: [
        job(1, { loss: "9", end: "Complete" }),
        job(2, { end: "Complete" }),
        job(4),
        job(6, { uid: "made again by somebody" }),
        job(7, { loss: "0.01", end: "Complete" }),
      ],
    },
    records: configMap({
      "trial.0": record(0, { uid: undefined }),
      "trial.1": record(1, { state: "Complete", value: "0.25", ended: at(30) }),
      "trial.2": record(2, { state: "Failed", reason: "MetricsUnavailable", message: "no loss" }),
      "trial.3": record(3, { state: "Failed", reason: "TrainJobDeleted" }),
      "trial.4": record(4),
      "pruning.4": JSON.stringify({ pruned: "median: loss 2 at step 1" }),
      "trial.5": record(5, { state: "EarlyStopped", message: "stopped by hand" }),
      "trial.6": record(6, { state: "Failed", reason: "TrainJobDeleted", message: "m" }),
      "trial.7": record(7),
    }),
  });
  const said = shown?.trials.map(({ name, state, value, message, stop, job }) =>
    JSON.parse(
      JSON.stringify([name, state, value ?? "", message ?? stop?.text ?? "", job?.name ?? ""]),
    )
  );
  assert.deepEqual(said, [
    ["digits-0", "Created", "", "", ""],
    ["digits-1", "Complete", 0.25, "", "digits-1"],
    ["digits-2", "MetricsUnavailable", "", "no loss", "digits-2"],
    ["digits-3", "Failed", "", "TrainJobDeleted", ""],
    ["digits-4", "Running", "", "Pruned: median: loss 2 at step 1", "digits-4"],
    ["digits-5", "EarlyStopped", "", "stopped by hand", ""],
    ["digits-6", "Failed", "", "TrainJobDeleted: m", ""],
    ["digits-7", "Running", 0.01, "", "digits-7"],
  ]);
  assert.equal(shown?.trials[1]?.values[1], "adam");
  assert.equal(shown?.best, "digits-1");
});

Deno.test("records of another object of that name are none", async () => {
  const records = configMap({ "trial.1": record(1) }, "an earlier search");
  assert.deepEqual((await shownOf({ records })).shown?.trials, []);
});

Deno.test("what may not be read of a search is told, and the rest is shown", async () => {
  const { shown } = await shownOf({ jobs: 403, records: 403 });
  assert.deepEqual(shown?.denied, ["trainjobs.trainer.kubeflow.org", "configmaps"]);
  const withJobs = await shownOf({ jobs: { [WITH_LABEL]: [job(1)] }, records: 403 });
  assert.deepEqual(withJobs.shown?.denied, ["configmaps"]);
  assert.deepEqual(withJobs.shown?.trials[0]?.values, ["0.01", "sgd"]);
  await assert.rejects(shownOf({ search: 403 }), isForbidden);
  assert.equal((await shownOf({ search: 404 })).shown, undefined);
});

Deno.test("the list says of each search how many trials are in which state, and the best", async () => {
  const jobs = {
    "trainer.kubeflow.org/optimizationjob-name": [
      job(1, { loss: "0.5", end: "Complete" }),
      job(2, { loss: "0.1", end: "EarlyStopped", stop: PRUNED }),
      job(3),
    ],
  };
  // The record of a trial whose job is gone counts.
  const records = configMap({
    "trial.4": record(4, { state: "Failed", reason: "TrainJobDeleted" }),
  });
  await withAnswers(cluster({ jobs, records }), async (client) => {
    const { searches, absent } = await listSearches(reader(client), ["ns"]);
    assert.deepEqual(searches, [{
      kind: OPTIMIZATION_JOBS,
      namespace: "ns",
      name: "digits",
      state: "Running",
      created: at(0),
      objective: { metric: "loss", direction: "minimize", strategy: "latest" },
      counts: {
        total: 4,
        states: [["Complete", 1], ["EarlyStopped", 1], ["Running", 1], ["Failed", 1]],
      },
      best: { trial: "digits-1", value: "0.5" },
    }]);
    assert.ok(absent.includes("experiments.kubeflow.org"));
  });
});

Deno.test("in the list a search has its own jobs and records: labels and owner references are set by anybody", async () => {
  const real = configMap({ "trial.4": record(4, { state: "Failed", reason: "TrainJobDeleted" }) });
  const won = { "trial.7": record(7, { state: "Complete", value: "0" }) };
  const pushed = Array.from({ length: SEARCH_LIMITS.trials }, (_, at) => at);
  const named = (metadata: object) => {
    const forged = configMap(won);
    return { ...forged, metadata: { ...forged.metadata, ...metadata } };
  };
  const records = [
    ...pushed.map((at) => configMap(won, `other-${at}`)),
    real,
    named({ namespace: "other" }),
    named({ name: "another-name" }),
  ];
  const best = job(9, { loss: "0", end: "Complete" });
  const jobs = [
    ...pushed.map((at) => job(at, { owner: "other", loss: "0", end: "Complete" })),
    job(1, { loss: "0.5", end: "Complete" }),
    { ...best, metadata: { ...best.metadata, namespace: "other" } },
  ];
  const label = "trainer.kubeflow.org/optimizationjob-name";
  const answer = cluster({ jobs: { [label]: jobs } });
  await withAnswers(
    (asked) =>
      asked.path.includes("/configmaps")
        ? { apiVersion: "v1", kind: "ConfigMapList", metadata: {}, items: records }
        : answer(asked),
    async (client) => {
      const { searches, isCut } = await listSearches(reader(client), []);
      assert.deepEqual(searches.map(({ counts, best }) => [counts.states, best]), [
        [[["Complete", 1], ["Failed", 1]], { trial: "digits-1", value: "0.5" }],
      ]);
      assert.equal(isCut, undefined);
    },
  );
});

Deno.test("the list has searches whose trials may not be read, with the best that their status names", async () => {
  const search = searchOf({
    status: { conditions: [held("Running", "")], result: { trainJobName: "digits-9" } },
  });
  await withAnswers(cluster({ search, jobs: 403 }), async (client) => {
    const { searches, denied } = await listSearches(reader(client), []);
    assert.deepEqual(searches.map(({ counts, best }) => [counts.total, best]), [
      [0, { trial: "digits-9" }],
    ]);
    const jobs = denied.filter(({ kind }) => kind === "trainjobs.trainer.kubeflow.org");
    assert.equal(jobs.length, 1);
  });
});

Deno.test("a cluster without the definition says that it has none", async () => {
  await withAnswers(cluster({ search: 404 }), async (client) => {
    const { searches, absent } = await listSearches(reader(client), []);
    assert.deepEqual(searches, []);
    assert.ok(absent.includes(OPTIMIZATION_JOBS));
  });
});
