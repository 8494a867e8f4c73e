/** Tests of the state of a job, read by the descriptor of its kind. */
import assert from "node:assert/strict";
import type { AnyJob } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import {
  checkpointOf,
  endOf,
  failureOf,
  fieldText,
  restartOf,
  restartsOf,
  shownStateOf,
  stallOf,
} from "../../crds/job_state.ts";

/** A TrainJob's status with conditions, each `Type=Status` or `Type=Status/Reason`. */
function jobWith(...conditions: string[]): Pick<AnyJob, "status"> {
  return {
    status: {
      conditions: conditions.map((it) => {
        const [type = "", status = "", reason = "Test"] = it.split(/[=/]/);
        return { type, status, reason };
      }),
    },
  };
}

const ends: Record<string, { conditions: string[]; want: string | undefined }> = {
  "no condition": { conditions: [], want: undefined },
  "Suspended": { conditions: ["Suspended=True"], want: undefined },
  "Complete": { conditions: ["Complete=True"], want: "Complete" },
  "Complete that is false": { conditions: ["Complete=False"], want: undefined },
  "Failed": { conditions: ["Suspended=False", "Failed=True"], want: "Failed" },
  "Failed for a runtime that may be changed yet": {
    conditions: ["Failed=True/TrainingRuntimeNotSupported"],
    want: undefined,
  },
  "Complete beside a failure that may go": {
    conditions: ["Failed=True/TrainingRuntimeNotSupported", "Complete=True"],
    want: "Complete",
  },
};
for (const [sentence, { conditions, want }] of Object.entries(ends)) {
  Deno.test(`\`endOf()\` reads a job with ${sentence}`, () => {
    assert.equal(endOf(TRAINJOB, jobWith(...conditions)), want);
  });
}

Deno.test("`endOf()` reads nothing of a job without status", () => {
  assert.equal(endOf(TRAINJOB, {}), undefined);
});

Deno.test("`restartsOf()` counts what the object counts, and at least the restarts that were asked for", () => {
  const restart = { count: 2, reason: "R", message: "", time: "2026-01-01T00:00:00Z" };
  const statuses = [{ restarts: 5, restart }, { restart }, { restarts: "5" }, undefined];
  const counts = statuses.map((status) => restartsOf({ kind: "Any", metadata: {}, status }));
  assert.deepEqual(counts, [5, 2, 0, 0]);
});

const job = { name: "node", ready: 0, succeeded: 0, failed: 0 };
const begun: Record<string, { status: AnyJob["status"]; want: string }> = {
  "a state": { status: { state: "Running" }, want: "Running" },
  "a state that says otherwise than its Jobs": {
    status: { state: "Created", jobsStatus: [{ ...job, ready: 1 }] },
    want: "Created",
  },
  "no state, where a definition drops it, and a pod that runs": {
    status: { jobsStatus: [{ ...job, ready: 1 }] },
    want: "Running",
  },
  "no state, and no pod yet": { status: { jobsStatus: [job] }, want: "Created" },
  "no status": { status: undefined, want: "Created" },
  "Jobs that are none": { status: { jobsStatus: "x" }, want: "Created" },
};
for (const [sentence, { status, want }] of Object.entries(begun)) {
  Deno.test(`\`shownStateOf()\` reads a TrainJob with ${sentence}`, () => {
    const job = { apiVersion: "v1", kind: "TrainJob", metadata: {}, status };
    assert.equal(shownStateOf(TRAINJOB, job), want);
  });
}

const TIME = "2026-01-01T00:00:00Z";
const FIELDS = [
  [restartOf, "restart", { count: 2, reason: "R", message: "", time: TIME }],
  [checkpointOf, "checkpoint", { step: 7, location: "/a", time: TIME }],
  [stallOf, "stalled", { since: TIME, message: "no step" }],
  [failureOf, "failure", { time: TIME, headline: "it broke", exitCode: 1 }],
] as const;
for (const [read, name, value] of FIELDS) {
  Deno.test(`\`${read.name}()\` reads an annotation that is of this very job, and no TrainJob's`, () => {
    const readOf = (text: string, kind = "PyTorchJob", uid: string | undefined = "u") =>
      read({ kind, metadata: { uid, annotations: { [`trainer.kubeflow.org/${name}`]: text } } });
    assert.deepEqual(readOf(fieldText("u", value)), value);
    assert.equal(readOf(fieldText("u", value), "TrainJob"), undefined);
    assert.equal(readOf(fieldText("another", value)), undefined);
    for (
      const text of [JSON.stringify(value), "", "{", "[]", "null", '{"uid": 1}', '{"uid":"u"}']
    ) {
      assert.equal(readOf(text), undefined);
    }
    const metadata = { annotations: { [`trainer.kubeflow.org/${name}`]: fieldText("", value) } };
    assert.equal(read({ kind: "PyTorchJob", metadata }), undefined);
    const annotations = { [`trainer.kubeflow.org/${name}`]: "{" };
    assert.deepEqual(
      read({ kind: "TrainJob", metadata: { uid: "u", annotations }, status: { [name]: value } }),
      value,
    );
  });
}
