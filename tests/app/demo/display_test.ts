/** Tests of the demo's output. */
import assert from "node:assert/strict";
import { chooseDisplay } from "../../../app/demo/display.ts";
import { type JobSummary, jobSummary, summaryTable } from "../../../app/demo/job_summary.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { JobRow } from "../../../crds/wire/row.ts";
import { FakeClock } from "../../support/fake_clock.ts";

function trainJob(status: unknown) {
  return KINDS.trainJob.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { name: "digits", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { runtimeRef: { name: "plain" } },
    ...(status === undefined ? {} : { status }),
  });
}

const running: JobRow = {
  uid: "u1",
  kind: "trainjobs.trainer.kubeflow.org",
  namespace: "default",
  name: "digits",
  state: "Running",
  progress: 50,
  remainingSeconds: 3,
  metrics: [{ name: "loss", value: "0.2" }],
  created: "2026-01-01T00:00:00Z",
};

/** A display, and what it has written. */
function displayed(json: boolean, isTerminal: boolean) {
  const written: string[] = [];
  const terminal = {
    look: { characters: "unicode", colours: false } as const,
    size: () => ({ columns: 80, rows: 24 }),
  };
  const display = chooseDisplay({
    json,
    write: (text) => written.push(text),
    clock: new FakeClock(),
    ...(isTerminal && { terminal }),
  });
  return { display, written };
}

Deno.test("jobSummary() has the time, the state and the message of the end", () => {
  const ended = trainJob({
    state: "Failed",
    conditions: [{
      type: "Failed",
      status: "True",
      reason: "FailedJobs",
      message: "it broke",
      lastTransitionTime: "2026-01-01T00:00:02Z",
    }],
  });
  assert.deepEqual(jobSummary(ended, Date.parse("2026-01-01T00:00:02.54Z")), {
    job: "digits",
    state: "Failed",
    seconds: 2.5,
    metrics: {},
    message: "it broke",
  });
});

Deno.test("jobSummary() has the headline of a failure", () => {
  const failure = { headline: "node-0 exited 3", time: "2026-01-01T00:00:02Z" };
  const conditions = [{
    type: "Failed",
    status: "True",
    reason: "FailedJobs",
    message: "it broke",
  }];
  const ended = trainJob({ state: "Failed", conditions, failure });
  assert.equal(jobSummary(ended, 0).message, "node-0 exited 3");
});

Deno.test("summaryTable() aligns its columns", () => {
  const rows: JobSummary[] = [
    { job: "a", state: "Complete", seconds: 1, metrics: {}, message: "" },
    {
      job: "longer",
      state: "Failed",
      seconds: 12.25,
      metrics: { loss: "1" },
      message: "why",
    },
  ];
  assert.equal(
    summaryTable(rows),
    [
      "JOB     STATE     SECONDS  METRICS  MESSAGE",
      "a       Complete  1.0",
      "longer  Failed    12.3     loss 1   why",
    ].join("\n"),
  );
});

Deno.test("with --json each change is a line that scripts may rely on", () => {
  const { display, written } = displayed(true, true);
  display.note("hello");
  display.changed(running, [running]);
  const { progress: _, remainingSeconds: __, metrics: ___, ...created } = running;
  display.changed({ ...created, state: "Created" }, [running]);
  display.finished([{ job: "digits", state: "Complete", seconds: 3.1, metrics: {}, message: "" }]);
  assert.deepEqual(written.map((line) => JSON.parse(line)), [
    {
      job: "digits",
      state: "Running",
      progressPercentage: 50,
      estimatedRemainingSeconds: 3,
      metrics: { loss: "0.2" },
    },
    { job: "digits", state: "Created", metrics: {} },
    { summary: [{ job: "digits", state: "Complete", seconds: 3.1, metrics: {}, message: "" }] },
  ]);
});

Deno.test("a pipe gets no control characters, and no line twice", () => {
  const { display, written } = displayed(false, false);
  display.changed(running, [running]);
  display.changed({ ...running, progress: 51 }, [running]);
  display.changed({ ...running, progress: 60 }, [running]);
  assert.deepEqual(written, [
    "default/digits  Running  50 %  3s left  loss 0.2\n",
    "default/digits  Running  60 %  3s left  loss 0.2\n",
  ]);
});

Deno.test("at a terminal rows are drawn over each other, each with its bar and the line of its metric", () => {
  const { display, written } = displayed(false, true);
  const other = { ...running, uid: "u2", name: "b" };
  display.changed(running, [running, other]);
  display.changed({ ...running, metrics: [{ name: "loss", value: "0.1" }] }, [running, other]);
  const [first = "", second = ""] = written;
  assert.match(first, /NAME +STATE +PROGRESS +ETA +METRICS\n/);
  assert.match(first, /digits +Running +████░░░░ +50 % +3s +loss 0\.2/);
  assert.ok(!first.includes("\x1b[3A") && second.startsWith("\x1b[3A"));
  assert.ok(written.every((text) => text.split("\n").every((line) => line.length <= 84)));
});
