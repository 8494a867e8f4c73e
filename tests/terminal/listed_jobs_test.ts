/** Tests of jobs that are listed once: their order, their table, and what is said to be missing. */
import assert from "node:assert/strict";
import { JOB_KINDS, TRAINJOB } from "../../crds/job_kinds.ts";
import type { JobRow } from "../../crds/wire/row.ts";
import { jobTable } from "../../terminal/job_rows.ts";
import { listedJobs, withWaitsRead } from "../../terminal/listed_jobs.ts";
import { type AskedOf, type MadeUp, withAnswers } from "../support/api_answers.ts";

const SIGNAL = new AbortController().signal;

const jobsOf = (kind: string, ...names: string[]) => ({
  kind: `${kind}List`,
  metadata: { resourceVersion: "1" },
  items: names.map((name, index) => ({
    apiVersion: TRAINJOB.apiVersion,
    kind,
    spec: { runtimeRef: { name: "torch" } },
    metadata: {
      name,
      namespace: "ml",
      uid: name,
      creationTimestamp: `2026-01-0${index + 1}T00:00:00Z`,
    },
  })),
});

const served = (...plurals: string[]) => ({ resources: plurals.map((name) => ({ name })) });

async function listed(
  answers: Readonly<Record<string, MadeUp>>,
  { namespaces = ["ml"], most = 100 } = {},
) {
  const answer = ({ path }: AskedOf) =>
    answers[path] ?? answers[path.split("/").at(-1) ?? ""] ?? 404;
  const asked: string[] = [];
  let found: Awaited<ReturnType<typeof listedJobs>> = { rows: [], missing: [] };
  await withAnswers((it) => (asked.push(it.path), answer(it)), async (client) => {
    found = await listedJobs({ client, namespaces }, JOB_KINDS.all, SIGNAL, most);
  });
  return { names: found.rows.map(({ name }) => name), missing: found.missing, asked };
}

const TRAINER = `/apis/${TRAINJOB.apiVersion}`;

Deno.test("jobs of all kinds are listed, the newest first, of kinds that are served and no others", async () => {
  const { names, missing, asked } = await listed({
    [TRAINER]: served("trainjobs"),
    "/apis/kubeflow.org/v1": served("pytorchjobs"),
    trainjobs: jobsOf("TrainJob", "old", "new"),
    pytorchjobs: jobsOf("PyTorchJob", "older", "newer", "newest"),
  });
  assert.deepEqual(names, ["newest", "new", "newer", "old", "older"]);
  assert.deepEqual(missing, []);
  assert.ok(!asked.some((path) => path.endsWith("/tfjobs")));
});

const MISSING: Readonly<Record<string, readonly [Readonly<Record<string, MadeUp>>, string[]]>> = {
  "a kind that may not be listed": [
    { [TRAINER]: served("trainjobs"), trainjobs: 403 },
    ["the user may not list trainjobs in ml"],
  ],
  "more than are read": [
    { [TRAINER]: served("trainjobs"), trainjobs: jobsOf("TrainJob", "a", "b", "c") },
    ["some trainjobs in ml: 2 are read"],
  ],
  "a cluster without kinds of ours": [
    {},
    ["the cluster serves none of the kinds of jobs that Milepost knows"],
  ],
};
for (const [what, [answers, want]] of Object.entries(MISSING)) {
  Deno.test(`what is missing is said: ${what}`, async () => {
    assert.deepEqual((await listed(answers, { most: 2 })).missing, want);
  });
}

Deno.test("a user who may not ask what is served is shown what may be listed", async () => {
  const { names, missing } = await listed({
    [TRAINER]: 403,
    trainjobs: jobsOf("TrainJob", "seen"),
  }, { namespaces: [] });
  assert.deepEqual([names, missing], [["seen"], []]);
});

Deno.test("an API server that fails is no empty list", async () => {
  await assert.rejects(listed({ [TRAINER]: served("trainjobs"), trainjobs: 500 }), /InternalError/);
});

const ROW: JobRow = {
  uid: "u",
  kind: TRAINJOB.id,
  namespace: "ml",
  name: "mnist",
  state: "Running",
  progress: 46,
  remainingSeconds: 83,
  metrics: [{ name: "loss", value: "0.22312345" }, { name: "\x1b[2J", value: "1" }],
  created: "2026-01-01T00:00:00Z",
};
const NOW = Date.parse("2026-01-01T00:10:00Z");

Deno.test("the table has whole names, one word a state, why a job fails, and kinds where there are several", () => {
  const long = "n".repeat(60);
  const { remainingSeconds: _, ...ended } = ROW;
  const rows = [ROW, { ...ended, name: long, state: "Failed", progress: 9 } as const];
  const look = {
    characters: "unicode",
    colours: false,
    columns: Infinity,
    nowMs: NOW,
    namespaced: false,
  } as const;
  assert.deepEqual(jobTable(rows, look), [
    `NAME${" ".repeat(56)}  STATE    DONE  ETA  AGE  METRICS`,
    `mnist${" ".repeat(55)}  Running  46 %  83s  10m  loss 0.22312  \\u001b[2J 1`,
    `${long}  Failed   9 %        10m  loss 0.22312  \\u001b[2J 1`,
  ]);
  const told = { ...ended, message: "node-0 exited 1: \x1b[2Jno" };
  const [, failed, restarting] = jobTable(
    [{ ...told, state: "Failed" }, { ...told, restarts: 4 }],
    look,
  );
  assert.match(failed ?? "", /^mnist +Failed +46 % +10m +node-0 exited 1: \\u001b\[2Jno$/);
  assert.match(restarting ?? "", /^mnist +Running .* restarting \(4×\): node-0 exited 1: /);
  const others = [ROW, { ...ROW, kind: "pytorchjobs.kubeflow.org" }];
  const [header] = jobTable(others, { ...look, namespaced: true });
  assert.match(header ?? "", /^NAMESPACE +NAME +KIND +STATE /);
});

Deno.test("jobs are listed also where it cannot be read what they wait for", async () => {
  const row: JobRow = {
    uid: "u",
    kind: TRAINJOB.id,
    namespace: "ml",
    name: "waits",
    state: "Created",
    created: "2026-01-01T00:00:00Z",
  };
  await withAnswers(() => 500, async (client) => {
    const cluster = { client, kinds: JOB_KINDS, namespaces: ["ml"] };
    const { rows, missing } = await withWaitsRead(cluster, { rows: [row], missing: ["x"] }, SIGNAL);
    assert.deepEqual(rows, [row]);
    assert.equal(missing.length, 2);
    assert.match(missing[1] ?? "", /^what jobs wait for: /);
  });
});
