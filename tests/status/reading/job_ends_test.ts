/** Tests of the ends of jobs, as streams receive them. */
import assert from "node:assert/strict";
import { createJobEnds } from "../../../status/reading/job_ends.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { AnyJob } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { Informer } from "../../../platform/kube/watching/informer.ts";

const JOB = { kind: TRAINJOB, namespace: "team", name: "job", uid: "uid-1" };

/** A TrainJob with conditions, each `Type=Status`. */
function trainJob(uid: string, ...conditions: string[]): AnyJob {
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

type Change = Parameters<Parameters<Informer<AnyJob>["onChange"]>[0]>[0];

function start(cached?: AnyJob) {
  const listeners = new Set<(change: Change) => void>();
  const jobs: Pick<Informer<AnyJob>, "get" | "onChange"> = {
    get: () => cached,
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const jobEnds = createJobEnds(new Map([[TRAINJOB, { jobs }]]));
  const heard: string[] = [];
  const stop = jobEnds.on(JOB, (end) => heard.push(end));
  const change = (it: Change) => listeners.forEach((listener) => listener(it));
  return { heard, stop, change, jobEnds, listeners };
}

Deno.test("`on()` is called at the end of its own job only", () => {
  const { heard, change } = start();
  change({ type: "updated", object: trainJob("uid-2", "Complete=True") });
  change({ type: "deleted", object: trainJob("uid-2") });
  change({ type: "updated", object: trainJob("uid-1") });
  assert.deepEqual(heard, []);
  change({ type: "updated", object: trainJob("uid-1", "Failed=True") });
  change({ type: "deleted", object: trainJob("uid-1", "Failed=True") });
  assert.deepEqual(heard, ["Failed", "Deleted"]);
});

Deno.test("`on()` is called at once for an earlier end, and not for another job's", () => {
  assert.deepEqual(start(trainJob("uid-1", "Complete=True")).heard, ["Complete"]);
  assert.deepEqual(start(trainJob("uid-2", "Complete=True")).heard, []);
});

Deno.test("`on()` is not called after it was stopped, nor any listener after `close()`", () => {
  const { heard, stop, change, jobEnds, listeners } = start();
  stop();
  change({ type: "deleted", object: trainJob("uid-1") });
  assert.deepEqual(heard, []);
  jobEnds.close();
  assert.equal(listeners.size, 0);
});
