/** Tests of a job's details: what is read, which changes are offered, and YAML. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import {
  type Action,
  actionsOf,
  conditionWait,
  detailsKey,
  readDetails,
  readRights,
} from "../../../../page/front/job/job_details.ts";
import { jobTimeText } from "../../../../platform/base/job_change_text.ts";
import { yamlText } from "../../../../page/front/job/object_yaml.ts";

Deno.test("readDetails() knows what is denied and what is cut off, and nothing else by those names", () => {
  const { denied, cut, uid } = readDetails({
    object: { metadata: { uid: "u" } },
    denied: ["events", "constructor", 1],
    cut: ["pods"],
  });
  assert.deepEqual([[...denied], [...cut], uid], [["events"], ["pods"], "u"]);
  assert.deepEqual([...readDetails({ denied: "pods" }).denied], []);
});

Deno.test("readDetails() has last words that are more than a headline", () => {
  const read = ["b\na", "a", 7, undefined].map((lastWords) => readDetails({ lastWords }).lastWords);
  assert.deepEqual(read, ["b\na", "", "", ""]);
});

Deno.test("readDetails() knows a stop, and when its grace is over", () => {
  const { stop } = readDetails({
    object: { status: { stop: { time: "1970-01-01T00:00:10Z", graceSeconds: 5, reason: "R" } } },
  });
  assert.deepEqual(stop, {
    reason: "R",
    message: "",
    user: "",
    timeMs: 10_000,
    graceSeconds: 5,
  });
});

Deno.test("readDetails() knows when a job began: at its start, else when it was made", () => {
  const metadata = { creationTimestamp: "1970-01-01T00:00:10Z" };
  const status = { startTime: "1970-01-01T00:00:20Z" };
  const read = [{ metadata, status }, { metadata }, {}].map((object) => readDetails({ object }));
  assert.deepEqual(read.map(({ startedMs }) => startedMs), [20_000, 10_000, undefined]);
});

Deno.test("detailsKey() is another one when a restart begins, and when it is over", () => {
  const row = { uid: "u", state: "Running" };
  const [before, during, after] = [row, { ...row, restartingSinceMs: 7 }, { ...row }]
    .map(detailsKey);
  assert.notEqual(before, during);
  assert.equal(before, after);
  const others = [undefined, { ...row, uid: "v" }, { ...row, state: "Failed" }];
  assert.equal(new Set([row, ...others].map(detailsKey)).size, 4);
});

Deno.test("conditionWait() says of a job that trains that its condition comes with its end", () => {
  assert.doesNotMatch(conditionWait("Running"), /controller/);
  assert.match(conditionWait("Running"), /when the job ends or is suspended/);
  assert.match(conditionWait("Created"), /has reported none.*when the job ends/);
});

const suspended: Record<string, { spec: unknown; want: boolean }> = {
  "a TrainJob": { spec: { suspend: true }, want: true },
  "a job with a run policy": { spec: { runPolicy: { suspend: true } }, want: true },
  "a text": { spec: { suspend: "true" }, want: false },
  "nothing": { spec: undefined, want: false },
};
for (const [sentence, { spec, want }] of Object.entries(suspended)) {
  Deno.test(`readDetails() knows whether it is suspended: ${sentence}`, () => {
    assert.equal(readDetails({ object: { spec } }).isSuspended, want);
  });
}

const ALL = readRights({ suspend: true, resume: true, restart: true, stop: true, delete: true });
const STOP = { reason: "", message: "", user: "", timeMs: 0, graceSeconds: 1 };
const RUNS = { isSuspended: false, stop: undefined, nextRestart: 1 };
const offers: Record<string, { got: readonly Action[]; want: readonly Action[] }> = {
  "a job that runs": {
    got: actionsOf(ALL, "Running", RUNS),
    want: ["suspend", "restart", "stop", "delete"],
  },
  "a job that cannot be restarted": {
    got: actionsOf(ALL, "Running", { ...RUNS, nextRestart: undefined }),
    want: ["suspend", "stop", "delete"],
  },
  "a job that is suspended": {
    got: actionsOf(ALL, "Suspended", { ...RUNS, isSuspended: true, nextRestart: undefined }),
    want: ["resume", "stop", "delete"],
  },
  "a job that is being stopped": {
    got: actionsOf(ALL, "Running", { ...RUNS, stop: STOP, nextRestart: undefined }),
    want: ["delete"],
  },
  "a job that has ended": { got: actionsOf(ALL, "Failed", RUNS), want: ["delete"] },
  "a viewer without rights": { got: actionsOf(new Set(), "Running", RUNS), want: [] },
  "rights that are no booleans": {
    got: actionsOf(readRights({ delete: "true", stop: 1 }), "Running", RUNS),
    want: [],
  },
};
for (const [sentence, { got, want }] of Object.entries(offers)) {
  Deno.test(`actionsOf() of ${sentence}`, () => assert.deepEqual(got, want));
}

Deno.test("yamlText() is readable", () => {
  const object = {
    apiVersion: "v1",
    spec: { args: ["--lr", "0.1", "on"], nodes: [{ name: "a", count: 1 }], none: {}, empty: [] },
  };
  assert.equal(
    yamlText(object),
    `apiVersion: v1
spec:
  args:
  - "--lr"
  - "0.1"
  - "on"
  nodes:
  - name: a
    count: 1
  none: {}
  empty: []
`,
  );
});

Deno.test("yamlText() of any JSON reads back as it was", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    assert.deepEqual(parse(yamlText(value)), JSON.parse(JSON.stringify(value)));
  }));
});

Deno.test("readDetails() has restarts of any kind of job, and what its time went to, whatever stands there", () => {
  const read = [
    { restarts: 3, restart: { count: 2 } },
    { restart: { count: 2 } },
    {
      restarts: "many",
      timeSpent: { productiveSeconds: 7260, lostSeconds: "x", stalledSeconds: -1 },
    },
    {},
  ].map((status) => readDetails({ object: { status } }));
  assert.deepEqual(read.map(({ restarts }) => restarts), [3, 2, 0, 0]);
  const text = (seconds: number) => `${seconds} s`;
  assert.deepEqual(read.slice(2).map(({ timeSpent }) => jobTimeText(timeSpent, text)), [
    "7260 s productive",
    "",
  ]);
});
