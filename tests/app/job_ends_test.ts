/** When streams hear that their job has ended. */
import assert from "node:assert/strict";
import { createJobEnds, endOf } from "../../app/manager/job_ends.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";

const JOB = { namespace: "team", name: "job", uid: "uid-1" };

/** A TrainJob with conditions, each `Type=Status`. */
function trainJob(uid: string, ...conditions: string[]): TrainJob {
  return KINDS.trainJob.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { namespace: JOB.namespace, name: JOB.name, uid },
    spec: { runtimeRef: { name: "plain" } },
    status: {
      conditions: conditions.map((it) => {
        const [type = "", status = ""] = it.split("=");
        const lastTransitionTime = "2026-01-01T00:00:00Z";
        return { type, status, reason: "Test", message: "", lastTransitionTime };
      }),
    },
  });
}

const ends: Record<string, { conditions: string[]; want: string | undefined }> = {
  "no condition": { conditions: [], want: undefined },
  "Suspended": { conditions: ["Suspended=True"], want: undefined },
  "Complete": { conditions: ["Complete=True"], want: "Complete" },
  "Complete that is false": { conditions: ["Complete=False"], want: undefined },
  "Failed": { conditions: ["Suspended=False", "Failed=True"], want: "Failed" },
};
for (const [sentence, { conditions, want }] of Object.entries(ends)) {
  Deno.test(`\`endOf()\` reads a job with ${sentence}`, () => {
    assert.equal(endOf(trainJob("uid-1", ...conditions)), want);
  });
}

type Change = Parameters<Parameters<Parameters<typeof createJobEnds>[0]["onChange"]>[0]>[0];

function start(cached?: TrainJob) {
  const listeners = new Set<(change: Change) => void>();
  const jobEnds = createJobEnds({
    get: () => cached,
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  });
  const heard: string[] = [];
  const stop = jobEnds.on(JOB, (end) => heard.push(end));
  const change = (it: Change) => listeners.forEach((listener) => listener(it));
  return { heard, stop, change, jobEnds, listeners };
}

Deno.test("`on()` hears of the end of its own job only", () => {
  const { heard, change } = start();
  change({ type: "updated", object: trainJob("uid-2", "Complete=True") });
  change({ type: "deleted", object: trainJob("uid-2") });
  change({ type: "updated", object: trainJob("uid-1") });
  assert.deepEqual(heard, []);
  change({ type: "updated", object: trainJob("uid-1", "Failed=True") });
  change({ type: "deleted", object: trainJob("uid-1", "Failed=True") });
  assert.deepEqual(heard, ["Failed", "Deleted"]);
});

Deno.test("`on()` hears at once of an end that was before, and not of another job's", () => {
  assert.deepEqual(start(trainJob("uid-1", "Complete=True")).heard, ["Complete"]);
  assert.deepEqual(start(trainJob("uid-2", "Complete=True")).heard, []);
});

Deno.test("`on()` hears nothing after it was stopped, nor anybody after `close()`", () => {
  const { heard, stop, change, jobEnds, listeners } = start();
  stop();
  change({ type: "deleted", object: trainJob("uid-1") });
  assert.deepEqual(heard, []);
  jobEnds.close();
  assert.equal(listeners.size, 0);
});
