/** Tests of the rows of jobs of several kinds. */
import assert from "node:assert/strict";
import { type AnyJob, jobSchema } from "../../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { fieldText } from "../../../crds/job_state.ts";
import { ROW_LIMITS, rowOf, rowWith } from "../../../views/list/job_row.ts";
import { compact } from "../../../platform/base/json.ts";
import type { JobRow } from "../../../crds/wire/row.ts";

const PYTORCH = JOB_KINDS.all.find(({ kind }) => kind === "PyTorchJob") ?? TRAINJOB;
const AT = "2026-01-01T00:00:00Z";

function job(more: Record<string, unknown>, metadata: Record<string, unknown> = {}): AnyJob {
  return jobSchema.parse({
    apiVersion: "a/v1",
    kind: "Any",
    metadata: { name: "j", namespace: "ml", uid: "u", creationTimestamp: AT, ...metadata },
    ...more,
  });
}

const True = (type: string, more: Record<string, unknown> = {}) => ({
  type,
  status: "True",
  lastTransitionTime: "2026-01-02T00:00:00Z",
  ...more,
});
const progress = {
  progressPercentage: 40,
  estimatedRemainingSeconds: 3,
  metrics: [{ name: "loss", value: "0.2" }],
  lastUpdatedTime: "2026-01-01T01:00:00Z",
};

const stall = { since: AT, message: `no step after 812 since ${AT}` };

interface Case {
  readonly kind?: typeof TRAINJOB;
  readonly job: AnyJob;
  readonly want: Partial<JobRow>;
}

const RESTART = { count: 2, reason: "Hangs", message: "no step", user: "ann", time: AT };
const HEADLINE = "node-0 exited 1: ValueError: b";
const failure = { headline: HEADLINE, replica: "node-0", exitCode: 1, time: AT, restarts: 4 };

const CASES: Readonly<Record<string, Case>> = {
  "a job without a status": { job: job({}), want: { state: "Created" } },
  "progress": {
    job: job({ status: { state: "Running", trainerStatus: progress } }),
    want: {
      state: "Running",
      progress: 40,
      remainingSeconds: 3,
      metrics: [{ name: "loss", value: "0.2" }],
      updated: "2026-01-01T01:00:00Z",
    },
  },
  "progress in an annotation": {
    kind: PYTORCH,
    job: job({ status: { conditions: [True("Created"), True("Running")] } }, {
      annotations: { "trainer.kubeflow.org/trainer-status": JSON.stringify(progress) },
    }),
    want: { kind: "pytorchjobs.kubeflow.org", state: "Running", progress: 40 },
  },
  "a failure says why": {
    kind: PYTORCH,
    job: job({ status: { conditions: [True("Failed", { message: "it broke" })] } }),
    want: { state: "Failed", message: "it broke", ended: "2026-01-02T00:00:00Z" },
  },
  "a failed job has the headline of its failure": {
    job: job({ status: { conditions: [True("Failed", { message: "it broke" })], failure } }),
    want: { state: "Failed", message: HEADLINE, restarts: undefined },
  },
  "so has one whose definition has no field for it": {
    kind: PYTORCH,
    job: job({ status: { conditions: [True("Failed", { message: "it broke" })] } }, {
      annotations: { "trainer.kubeflow.org/failure": fieldText("u", failure) },
    }),
    want: { state: "Failed", message: HEADLINE },
  },
  "one that makes no progress says so, and no time left": {
    job: job({ status: { state: "Running", trainerStatus: progress, stalled: stall } }),
    want: {
      state: "Running",
      stalledSince: AT,
      message: stall.message,
      remainingSeconds: undefined,
    },
  },
  "one that is being restarted says since when, who asked for it, and why": {
    job: job({
      status: {
        state: "Running",
        trainerStatus: progress,
        stalled: stall,
        failure,
        restart: RESTART,
      },
    }),
    want: {
      state: "Running",
      restartingSince: AT,
      message: "restart 2: Hangs: no step (asked for by ann)",
      remainingSeconds: undefined,
      stalledSince: undefined,
      restarts: undefined,
    },
  },
  "so does one whose definition has no field for that": {
    kind: PYTORCH,
    job: job({ status: { conditions: [True("Running")] } }, {
      annotations: { "trainer.kubeflow.org/restart": fieldText("u", RESTART) },
    }),
    want: { restartingSince: AT },
  },
  "one whose restart is over says nothing of it": {
    job: job({ status: { state: "Running", restart: { ...RESTART, endTime: AT } } }),
    want: { restartingSince: undefined, message: undefined },
  },
  "one that ended while it was restarted has ended": {
    job: job({
      status: { conditions: [True("Failed", { message: "late" })], restart: RESTART },
    }),
    want: { state: "Failed", restartingSince: undefined, message: "late" },
  },
  "so does one whose definition has no field for it": {
    kind: PYTORCH,
    job: job({ status: { conditions: [True("Running")] } }, {
      annotations: { "trainer.kubeflow.org/stalled": fieldText("u", stall) },
    }),
    want: { stalledSince: AT, message: stall.message },
  },
  "one that ended while it made none has ended": {
    job: job({ status: { conditions: [True("Failed", { message: "late" })], stalled: stall } }),
    want: { state: "Failed", stalledSince: undefined, message: "late" },
  },
  "pods that fail are what matters": {
    job: job({ status: { state: "Running", failure, stalled: stall } }),
    want: { stalledSince: undefined, restarts: 4, message: HEADLINE },
  },
  "a failure of another form is none": {
    job: job({
      status: { conditions: [True("Failed", { message: "it broke" })], failure: { time: 1 } },
    }),
    want: { state: "Failed", message: "it broke" },
  },
  "pods that fail and are started again have no time left": {
    job: job({ status: { state: "Running", trainerStatus: progress, failure } }),
    want: {
      state: "Running",
      message: HEADLINE,
      restarts: 4,
      progress: 40,
      remainingSeconds: undefined,
    },
  },
  "a failure without a headline is history": {
    job: job({
      status: { state: "Running", trainerStatus: progress, failure: { time: AT, restarts: 4 } },
    }),
    want: { message: undefined, restarts: undefined, remainingSeconds: 3 },
  },
  "an early stop says why, and is no plain success": {
    kind: PYTORCH,
    job: job({
      status: {
        conditions: [True("EarlyStopped", { message: "loss 9 > 1" }), True("Succeeded")],
      },
    }),
    want: { state: "EarlyStopped", message: "loss 9 > 1", ended: "2026-01-02T00:00:00Z" },
  },
  "a stop says when its grace ends": {
    job: job({
      status: { state: "Running", stop: { reason: "R", time: AT, message: "", graceSeconds: 30 } },
    }),
    want: { state: "Running", stopsBy: "2026-01-01T00:00:30.000Z" },
  },
  "a stop without a grace ends at once": {
    kind: PYTORCH,
    job: job({ status: { stop: { reason: "R", time: AT, message: "" } } }),
    want: { stopsBy: "2026-01-01T00:00:00.000Z" },
  },
  "a job that was stopped has no grace any more": {
    job: job({
      status: {
        conditions: [True("EarlyStopped", { message: "m" })],
        stop: { reason: "R", time: AT, message: "", graceSeconds: 30 },
      },
    }),
    want: { state: "EarlyStopped", stopsBy: undefined },
  },
  "a suspended job": {
    job: job({
      status: { state: "Running", conditions: [True("Suspended")], trainerStatus: progress },
    }),
    want: { state: "Suspended", progress: 40, remainingSeconds: undefined },
  },
  "a Trial's job": {
    job: job({}, {
      labels: { "katib.kubeflow.org/experiment": "e" },
      ownerReferences: [{
        apiVersion: "kubeflow.org/v1beta1",
        kind: "Trial",
        name: "t",
        uid: "1",
        controller: true,
      }],
    }),
    want: { trial: "t", experiment: "e" },
  },
};

for (const [what, { kind = TRAINJOB, job, want }] of Object.entries(CASES)) {
  Deno.test(`\`rowOf()\`: ${what}`, () => {
    const identity = { uid: "u", namespace: "ml", name: "j", created: AT, kind: kind.id };
    const row = rowOf(kind, job);
    const absent = Object.entries(want).filter(([, it]) => it === undefined).map(([key]) => key);
    assert.partialDeepStrictEqual(row, compact({ ...identity, ...want }));
    assert.deepEqual(absent.filter((key) => key in row), []);
  });
}

Deno.test("`rowOf()` bounds what pods and users choose", () => {
  const metrics = Array.from({ length: 100 }, (_, index) => ({ name: `m${index}`, value: "1" }));
  const conditions = [True("Failed", { message: "x".repeat(10_000) })];
  const row = rowOf(
    TRAINJOB,
    job({ status: { conditions, trainerStatus: { ...progress, metrics } } }),
  );
  assert.equal(row.metrics?.length, ROW_LIMITS.metrics);
  assert.equal(row.message?.length, ROW_LIMITS.messageLength);
  assert.ok(JSON.stringify(row).length < 4096);
});

Deno.test("`rowWith()` takes no time that is left from pods that fail and are started again", () => {
  const restarting = rowOf(TRAINJOB, job({ status: { state: "Running", failure } }));
  assert.equal(rowWith(restarting, progress).remainingSeconds, undefined);
  const running = rowOf(TRAINJOB, job({ status: { state: "Running" } }));
  assert.equal(rowWith(running, progress).remainingSeconds, 3);
});
