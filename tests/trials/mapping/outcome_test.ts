/** Tests of `outcomeOf()`: jobs of every kind by Katib's defaults and examples, and hostile jobs. */
import assert from "node:assert/strict";
import { outcomeOf } from "../../../trials/mapping/outcome.ts";
import { mappingOf } from "../../../trials/mapping/trial_template.ts";
import type { JobOutcome } from "../../../trials/mapping/trial_mapping.ts";

function outcome(template: unknown, kind: string, job: unknown): JobOutcome {
  const result = mappingOf(template, { apiVersion: "x/v1", kind });
  assert.ok(result.ok, JSON.stringify(result));
  return outcomeOf(result.mapping, job);
}

type Condition = readonly [type: string, status: string, reason?: string, message?: string];

/** A job with these conditions in its status. */
function withConditions(...conditions: Condition[]) {
  return {
    metadata: { name: "j" },
    status: {
      conditions: conditions.map(([type, status, reason, message]) => ({
        type,
        status,
        ...(reason === undefined ? {} : { reason }),
        ...(message === undefined ? {} : { message }),
      })),
    },
  };
}

const argo = {
  successCondition: `status.[@this].#(phase=="Succeeded")#`,
  failureCondition: `status.[@this].#(phase=="Failed")#`,
};
const tekton = {
  successCondition: `status.conditions.#(type=="Succeeded")#|#(status=="True")#`,
  failureCondition: `status.conditions.#(type=="Succeeded")#|#(status=="False")#`,
};
const jobSet = {
  successCondition: `status.conditions.#(type=="Completed")#|#(status=="True")#`,
  failureCondition: `status.conditions.#(type=="Failed")#|#(status=="True")#`,
};
const kep = { succeededCondition: "Succeeded" };

const OUTCOMES: readonly [string, unknown, string, unknown, JobOutcome][] = [
  [
    "a TrainJob that is complete",
    {},
    "TrainJob",
    withConditions(["Suspended", "False"], ["Complete", "True", "JobsCompleted", "done"]),
    { state: "Succeeded", reason: "JobsCompleted", message: "done" },
  ],
  [
    "a TrainJob that failed",
    {},
    "TrainJob",
    withConditions(["Failed", "True", "DeadlineExceeded", "late"]),
    { state: "Failed", reason: "DeadlineExceeded", message: "late" },
  ],
  [
    "a TrainJob that did not fail",
    {},
    "TrainJob",
    withConditions(["Failed", "False", "x"], ["Complete", "False"]),
    { state: "Undecided" },
  ],
  ["a TrainJob without a status", {}, "TrainJob", { spec: {} }, { state: "Undecided" }],
  ["a TrainJob without conditions", {}, "TrainJob", withConditions(), { state: "Undecided" }],
  [
    "a job that says both: the failure is asked first",
    {},
    "TrainJob",
    withConditions(["Complete", "True", "a"], ["Failed", "True", "b"]),
    { state: "Failed", reason: "b" },
  ],
  ["a Job", {}, "Job", withConditions(["Complete", "True"]), { state: "Succeeded" }],
  [
    "a Job that failed",
    {},
    "Job",
    withConditions(["FailureTarget", "True"], ["Failed", "True", "BackoffLimitExceeded"]),
    { state: "Failed", reason: "BackoffLimitExceeded" },
  ],
  [
    "a Job on its way",
    {},
    "Job",
    withConditions(["SuccessCriteriaMet", "True"]),
    { state: "Undecided" },
  ],
  ...["TFJob", "PyTorchJob", "XGBoostJob", "MPIJob"].flatMap((kind) => ([
    [
      `a ${kind} that succeeded`,
      {},
      kind,
      withConditions(["Created", "True"], ["Running", "False"], ["Succeeded", "True", "Fine"]),
      { state: "Succeeded", reason: "Fine" },
    ],
    [
      `a ${kind} that failed`,
      {},
      kind,
      withConditions(["Restarting", "True"], ["Failed", "True", "Bad", "worse"]),
      { state: "Failed", reason: "Bad", message: "worse" },
    ],
    [`a ${kind} that runs`, {}, kind, withConditions(["Running", "True"]), {
      state: "Undecided",
    }],
  ] satisfies [string, unknown, string, unknown, JobOutcome][])),
  [
    "a JobSet",
    jobSet,
    "JobSet",
    withConditions(["Completed", "True", "AllJobsCompleted", "m"]),
    { state: "Succeeded", reason: "AllJobsCompleted", message: "m" },
  ],
  ["a JobSet that failed", jobSet, "JobSet", withConditions(["Failed", "True"]), {
    state: "Failed",
  }],
  [
    "Argo's Workflow, whose status is the object",
    argo,
    "Workflow",
    { status: { phase: "Succeeded", message: "ok" } },
    { state: "Succeeded", message: "ok" },
  ],
  ["Argo's Workflow that failed", argo, "Workflow", {
    status: { phase: "Failed", message: "no" },
  }, { state: "Failed", message: "no" }],
  ["Argo's Workflow that runs", argo, "Workflow", { status: { phase: "Running" } }, {
    state: "Undecided",
  }],
  [
    "Tekton's PipelineRun",
    tekton,
    "PipelineRun",
    withConditions(["Succeeded", "True", "Completed"]),
    { state: "Succeeded", reason: "Completed" },
  ],
  [
    "Tekton's PipelineRun that failed",
    tekton,
    "PipelineRun",
    withConditions(["Succeeded", "False", "Failed", "m"]),
    { state: "Failed", reason: "Failed", message: "m" },
  ],
  [
    "Tekton's PipelineRun that runs",
    tekton,
    "PipelineRun",
    withConditions(["Succeeded", "Unknown"]),
    { state: "Undecided" },
  ],
  [
    "KEP-1214's condition of any kind",
    kep,
    "Anything",
    withConditions(["Succeeded", "True", "r", "m"]),
    { state: "Succeeded", reason: "r", message: "m" },
  ],
  [
    "KEP-1214's condition with another status",
    kep,
    "Anything",
    withConditions(["Succeeded", "true"], ["Succeeded", "Unknown"], ["Other", "True"]),
    { state: "Undecided" },
  ],
  [
    "KEP-1214's kind that knows no failure",
    kep,
    "Anything",
    withConditions(["Failed", "True"]),
    { state: "Undecided" },
  ],
];

for (const [says, template, kind, job, expected] of OUTCOMES) {
  Deno.test(`outcomeOf() decides ${says}`, () => {
    assert.deepEqual(outcome(template, kind, job), expected);
  });
}

/** What the member `c` leads to. Expected values: Katib's lines, run in Go. */
const MET: readonly [string, unknown, JobOutcome | "problem"][] = [
  ["an object", { reason: "r", message: "m" }, {
    state: "Succeeded",
    reason: "r",
    message: "m",
  }],
  ["an empty object", {}, { state: "Succeeded" }],
  ["the first of a list", [{ reason: "r" }, { reason: "x" }], {
    state: "Succeeded",
    reason: "r",
  }],
  ["an empty list", [], { state: "Undecided" }],
  ["a text", "x", { state: "Undecided" }],
  ["true", true, { state: "Undecided" }],
  ["null", null, { state: "Undecided" }],
  ["0", 0, { state: "Undecided" }],
  ["nothing", undefined, { state: "Undecided" }],
  ["a list of texts", ["x"], "problem"],
  ["a list of numbers", [1], "problem"],
  ["a list of null", [null], "problem"],
  ["a list of lists", [[{ reason: "r" }]], "problem"],
  ["a list of the text null", ["null"], "problem"],
  ["a list of an object's text", ['{"reason":"r"}'], { state: "Succeeded", reason: "r" }],
  ["a reason that is a number", { reason: 5, message: "m" }, "problem"],
  ["a member condition that is a number", { condition: 5 }, "problem"],
  ["a member condition", { condition: "Running", reason: "r" }, {
    state: "Succeeded",
    reason: "r",
  }],
  ["a reason that is null", { reason: null, message: "m" }, { state: "Succeeded", message: "m" }],
  ["keys in another case", { Reason: "R", MESSAGE: "M" }, {
    state: "Succeeded",
    reason: "R",
    message: "M",
  }],
  ["a key in two cases", { reason: "r", Reason: "R" }, { state: "Succeeded", reason: "r" }],
];

for (const [says, c, expected] of MET) {
  Deno.test(`outcomeOf() on a condition that leads to ${says}`, () => {
    const found = outcome({ successCondition: "c", failureCondition: "f" }, "X", { c });
    if (expected !== "problem") return assert.deepEqual(found, expected);
    assert.ok("problem" in found, JSON.stringify(found));
    assert.match(found.problem, /^successCondition c: is met by /);
  });
}

Deno.test("outcomeOf() does not evaluate the success if the failure is undecidable", () => {
  const template = { successCondition: "c", failureCondition: "f" };
  const found = outcome(template, "X", { c: {}, f: [1] });
  assert.ok("problem" in found, JSON.stringify(found));
  assert.match(found.problem, /^failureCondition f: /);
});

Deno.test("outcomeOf() returns for every job", () => {
  for (
    const job of [undefined, null, 1, "x", [], {}, { status: 5 }, { status: { conditions: 1 } }]
  ) {
    assert.deepEqual(outcome({}, "TrainJob", job), { state: "Undecided" });
  }
});

Deno.test("outcomeOf() is undecidable for a job that exceeds its limits, and says why", () => {
  const conditions = Array.from({ length: 400_000 }, () => ({}));
  const found = outcome({}, "TrainJob", { status: { conditions } });
  assert.ok("problem" in found, JSON.stringify(found));
  assert.match(found.problem, /visits more than \d+ values/);
});
