/** Test of a search whose trials are pruned while they run, from pushes of their pods to their ends. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { readTrialRecords, trialName, trialRecordsName } from "../../../crds/trial_records.ts";
import { shellRuntime, trainJobThat, withStandalone } from "../../support/standalone.ts";
import { accepted, eventsAbout, pushingPods } from "../../support/trials.ts";
import { until } from "../../support/until.ts";
import { optimizationJob } from "../../trials/search/builders.ts";
import { has } from "./trial_support.ts";

const namespace = "default";
const TRIALS = 3;

Deno.test("a trial that falls behind is told so in the answer to its push, and ends as pruned", async () => {
  await withStandalone(async (standalone) => {
    const { client } = standalone;
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"));
    const { metadata } = await client.create(
      KINDS.optimizationJob,
      optimizationJob({
        metadata: {
          namespace,
          uid: undefined,
          annotations: {
            [ANNOTATIONS.pruner]: JSON.stringify({
              asha: { min_resource: 1, reduction_factor: 3 },
            }),
          },
        },
        parameters: ["lr uniform 0.1 1"],
        spec: { numTrials: TRIALS, parallelTrials: TRIALS },
        template: {
          metadata: { annotations: { [ANNOTATIONS.trialTemplate]: "{}" } },
          spec: { runtimeRef: { name: "idle" } },
        },
      }),
    );
    const { name = "", uid = "" } = metadata;
    const records = { namespace, name: trialRecordsName(name) };
    const jobs = Array.from({ length: TRIALS }, (_, index) => trialName({ name, uid }, index));
    const [first, second, third] = await Promise.all(jobs.map(async (job) => {
      const [pod = assert.fail()] = await pushingPods(standalone, job, 1);
      return pod;
    }));
    assert.ok(first && second && third);
    const annotations = { [ANNOTATIONS.earlyStoppingGrace]: "1h" };
    const patch = { type: "merge", body: { metadata: { annotations } } } as const;
    await client.patch(KINDS.trainJob, { namespace, name: jobs[2] ?? "" }, patch);
    assert.equal((await accepted(first.push({ loss: "0.5" }))).control, undefined);
    const { control } = await accepted(second.push({ loss: "0.9" }));
    const words = "pruner asha: loss 0.9 is number 2 of 2 at step 1, rung 0, where 0.5 goes on";
    assert.deepEqual(control, {
      stop: true,
      reason: "EarlyStopped",
      message: `stopped early: ${words}`,
    });
    const read = async () =>
      readTrialRecords((await client.get(KINDS.configMap, records)).data).pruning;
    assert.equal((await read()).get(1)?.pruned, words, "it is recorded before it is answered");
    const stopped = await trainJobThat(
      client,
      jobs[1] ?? "",
      "is stopped early",
      (it) => has(it, "EarlyStopped"),
    );
    const condition = stopped.status?.conditions?.find(({ type }) => type === "EarlyStopped");
    assert.deepEqual([condition?.reason, condition?.message], ["Pruned", words]);
    const [event] = await eventsAbout(
      client,
      { kind: "TrainJob", name: jobs[1] ?? "" },
      "EarlyStopped",
    );
    assert.match(event ?? "", /pruner asha/);
    // The first goes on, and reaches the next rung.
    assert.equal((await accepted(first.push({ loss: "0.4" }))).control, undefined);
    assert.equal((await accepted(first.push({ loss: "0.3" }))).control, undefined);
    assert.deepEqual((await read()).get(0)?.rungs, [.5, .3]);
    // What is pushed of anything else is no report.
    assert.equal((await accepted(third.push({ accuracy: "0.1" }))).control, undefined);
    const late = await accepted(third.push({ loss: "0.95" }));
    assert.equal(late.control?.stop, true);
    await until("the verdict is in the job's status, or has ended it", async () => {
      const job = await client.get(KINDS.trainJob, { namespace, name: jobs[2] ?? "" });
      return has(job, "EarlyStopped") || job.status?.stop !== undefined ? true : undefined;
    });
  });
});
