/** Tests of the demo's output. */
import assert from "node:assert/strict";
import { chooseDisplay } from "../../../app/demo/display.ts";
import { type JobSummary, jobSummary, type JobView, jobView } from "../../../app/demo/job_view.ts";
import { barLine, progressBar, summaryTable } from "../../../app/demo/rendering.ts";
import { KINDS } from "../../../crds/kinds.ts";

function trainJob(status: unknown) {
  return KINDS.trainJob.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { name: "digits", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { runtimeRef: { name: "plain" } },
    ...(status === undefined ? {} : { status }),
  });
}

const running: JobView = {
  job: "digits",
  state: "Running",
  progressPercentage: 50,
  estimatedRemainingSeconds: 3,
  metrics: { loss: "0.2" },
};

Deno.test("jobView() of a job without a status is Created", () => {
  assert.deepEqual(jobView(trainJob(undefined)), { job: "digits", state: "Created", metrics: {} });
});

Deno.test("jobView() carries what the pods reported", () => {
  const view = jobView(trainJob({
    state: "Running",
    trainerStatus: {
      progressPercentage: 50,
      estimatedRemainingSeconds: 3,
      metrics: [{ name: "loss", value: "0.2" }],
      lastUpdatedTime: "2026-01-01T00:00:01Z",
    },
  }));
  assert.deepEqual(view, running);
});

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

for (
  const [percentage, want] of [[0, "░░░░"], [50, "██░░"], [100, "████"], [130, "████"]] as const
) {
  Deno.test(`progressBar() of ${percentage} is ${want}`, () => {
    assert.equal(progressBar(percentage, 4), want);
  });
}

Deno.test("barLine() has name, state, bar, time left and metrics", () => {
  assert.equal(
    barLine(running, 8),
    "digits    Running    ████████████░░░░░░░░░░░░  50 %  3 s left    loss 0.2",
  );
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

Deno.test("chooseDisplay() writes one JSON object a line with --json", () => {
  const lines: string[] = [];
  const display = chooseDisplay(true, true, (text) => lines.push(text));
  display.note("hello");
  display.changed(running, [running]);
  display.finished([{ job: "digits", state: "Complete", seconds: 3.1, metrics: {}, message: "" }]);
  assert.deepEqual(lines.map((line) => JSON.parse(line)), [
    running,
    { summary: [{ job: "digits", state: "Complete", seconds: 3.1, metrics: {}, message: "" }] },
  ]);
});

Deno.test("chooseDisplay() writes no control characters into a pipe, and no line twice", () => {
  const lines: string[] = [];
  const display = chooseDisplay(false, false, (text) => lines.push(text));
  display.changed(running, [running]);
  display.changed({ ...running, progressPercentage: 51 }, [running]);
  display.changed({ ...running, progressPercentage: 60 }, [running]);
  assert.deepEqual(lines, [
    "digits  Running  50 %  3 s left  loss 0.2\n",
    "digits  Running  60 %  3 s left  loss 0.2\n",
  ]);
});

Deno.test("chooseDisplay() draws bars over each other on a terminal", () => {
  let text = "";
  const display = chooseDisplay(false, true, (part) => text += part);
  display.changed(running, [running, { ...running, job: "b" }]);
  display.changed(running, [running, { ...running, job: "b" }]);
  assert.equal(text.split("\x1b[2A").length, 2);
});
