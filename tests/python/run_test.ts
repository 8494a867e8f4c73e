/** Tests of the Python client in pods of a real `standalone`: what it pushes, and how it hears a stop. */
import assert from "node:assert/strict";
import { z } from "zod";
import { ANNOTATIONS } from "../../crds/names.ts";
import { stopPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { observer } from "../support/observer.ts";
import { shareStandalone, shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { SOURCES, testWithPython } from "./interpreter.ts";

const standalone = shareStandalone();
const observation = z.object({ log: z.array(z.object({ name: z.string(), value: z.string() })) });

/** Creates a runtime whose pods run a Python program, and a job of the same name on it. */
async function start(
  client: KubeClient,
  name: string,
  program: string,
  change: (job: TrainJob) => TrainJob = (job) => job,
): Promise<void> {
  const command =
    `PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${SOURCES} python3 - <<'END'\n${program}\nEND`;
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime(name, command));
  await client.create(KINDS.trainJob, change(trainJob(name, name)));
}

/** The log of the job's pod of that index, once it has a line: it is followed, because a pod may be gone soon after its end. */
function lineOf(client: KubeClient, job: string, index: number): Promise<string> {
  return until(`pod ${index} of ${job} has printed`, async () => {
    const { items } = await client.list(KINDS.pod, { namespace: "default" });
    const pod = items.find(({ metadata }) => metadata?.name?.startsWith(`${job}-node-0-${index}-`));
    if (pod === undefined) return undefined;
    const path = `/api/v1/namespaces/default/pods/${pod.metadata?.name}/log?follow=true`;
    const { body } = await client.stream(path, { idleMs: 60_000 });
    let text = "";
    for await (const part of ReadableStream.from(body).pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.includes("\n")) return text;
    }
    return undefined;
  }, { timeoutMs: 60_000 });
}

testWithPython(
  "three lines of Python show a job's progress, from its first node alone",
  async () => {
    const { client } = standalone();
    const program = `
import milepost, threading
with milepost.Run(total=300) as run:
    for step in range(300):
        run.push(step=step, loss=1 / (step + 1))
    print("threads:", threading.active_count(), flush=True)`;
    const twoNodes = (job: TrainJob) => ({
      ...job,
      spec: { ...job.spec, trainer: { numNodes: 2 } },
    });
    await start(client, "three-lines", program, twoNodes);
    assert.equal(await lineOf(client, "three-lines", 0), "threads: 2\n");
    // That of its heartbeats.
    assert.equal(await lineOf(client, "three-lines", 1), "threads: 2\n");
    const isDone = (job: TrainJob) => job.status?.state === "Complete";
    const { status } = await trainJobThat(client, "three-lines", "completes", isDone);
    const { trainerStatus } = await trainJobThat(
      client,
      "three-lines",
      "is at 100 %",
      (job) => job.status?.trainerStatus?.progressPercentage === 100,
    ).then((job) => job.status ?? status ?? {});
    assert.equal(trainerStatus?.estimatedRemainingSeconds, 0);
    assert.deepEqual(trainerStatus?.metrics, [{ name: "loss", value: String(1 / 300) }]);
  },
);

testWithPython("a metric that is pushed once is shown to the end, and recorded once", async () => {
  const { client } = standalone();
  const program = `
import milepost, time
with milepost.Run(total=5) as run:
    run.push({"val/loss": 0.5}, step=0)
    for step in range(5):
        time.sleep(0.2)
        run.push(step=step, loss=0.25)`;
  await start(client, "seldom", program, (job) => ({
    ...job,
    metadata: { ...job.metadata, annotations: { [ANNOTATIONS.stopWhen]: '"val/loss" > 9' } },
  }));
  const { status } = await trainJobThat(
    client,
    "seldom",
    "is at 100 %",
    (job) => job.status?.trainerStatus?.progressPercentage === 100,
  );
  assert.deepEqual(status?.trainerStatus?.metrics, [
    { name: "loss", value: "0.25" },
    { name: "val/loss", value: "0.5" },
  ]);
  const reader = await observer(client, "reader-of-seldom");
  const { body } = await reader.read(standalone(), "seldom");
  const { log } = observation.parse(body);
  assert.deepEqual(log.filter(({ name }) => name !== "loss").map(({ value }) => value), ["0.5"]);
});

testWithPython("runs that push nothing hear that their job is stopped, in each pod", async () => {
  const all = standalone();
  const { client } = all;
  const program = `
import milepost, time
with milepost.Run(total=100) as run:
    run.push(step=50, loss=0.5)
    while not run.stop:
        time.sleep(0.05)
    print("stopped:", run.stop, flush=True)`;
  await start(client, "stopped", program, (job) => ({
    ...job,
    spec: { ...job.spec, trainer: { numNodes: 2 } },
  }));
  await trainJobThat(
    client,
    "stopped",
    "is at 50 %",
    (job) => job.status?.trainerStatus?.progressPercentage === 50,
  );
  const lines = Promise.all([0, 1].map((index) => lineOf(client, "stopped", index)));
  const tuner = await observer(client, "tuner", TRAINJOB, ["get", "update"]);
  using http = Deno.createHttpClient({ caCerts: [all.caBundle()] });
  const answer = await fetch(all.status + stopPath(TRAINJOB, "default", "stopped"), {
    method: "POST",
    client: http,
    headers: { authorization: `Bearer ${tuner.token}` },
    body: JSON.stringify({ reason: "Pruned", message: "not good", graceSeconds: 120 }),
    signal: AbortSignal.timeout(30_000),
  });
  assert.equal(answer.status, 200, await answer.text());
  const said = "stopped: EarlyStopped: stopped early: Pruned: not good\n";
  assert.deepEqual(await lines, [said, said]);
  const isStopped = (job: TrainJob) => job.status?.state === "EarlyStopped";
  const { status } = await trainJobThat(client, "stopped", "is stopped early", isStopped);
  assert.equal(status?.trainerStatus?.progressPercentage, 50);
});

testWithPython(
  "values that are merged keep their step, by which a rule stops the job",
  async () => {
    const { client } = standalone();
    const program = `
import milepost, time
with milepost.Run(total=10_000) as run:
    for step in range(10_000):
        run.push(step=step, loss=step)
        if run.stop:
            break
        time.sleep(0.005)
    print("stopped:", run.stop, flush=True)`;
    const rules = {
      objective: { name: "loss", type: "minimize" },
      rules: [{ name: "loss", value: "0", comparison: "greater", startStep: 200, unit: "step" }],
    };
    const annotations = {
      [ANNOTATIONS.earlyStopping]: JSON.stringify(rules),
      [ANNOTATIONS.earlyStoppingGrace]: "120s",
    };
    await start(client, "by-step", program, (job) => ({
      ...job,
      metadata: { ...job.metadata, annotations },
    }));
    const line = await lineOf(client, "by-step", 0);
    const [, loss = "", at] = /loss (\d+) is greater than 0, at step (\d+)\n$/.exec(line) ?? [];
    assert.equal(loss, at, line);
    assert.ok(Number(at) >= 200 && Number(at) < 400, line);
    const reader = await observer(client, "reader");
    const { body } = await reader.read(standalone(), "by-step", { query: "?limit=5000" });
    const { log } = observation.parse(body);
    assert.ok(log.length > 5, "there are rows");
    assert.ok(log.length < 200, `of 200 and more pushes some were merged, not ${log.length}`);
  },
);

testWithPython("what was pushed during an outage comes as a history, each value once", async () => {
  const { client } = standalone();
  const program = `
import logging, milepost, os, time
from milepost.endpoint import HttpsEndpoint
from milepost.surroundings import place_of
logging.disable()
sent = []
class AwayAtFirst(HttpsEndpoint):
    def post(self, suffix, body):
        if pushed < 20:
            raise OSError("away")
        sent.append(suffix)
        return super().post(suffix, body)
pushed = 0
with milepost.Run(total=20, endpoint=AwayAtFirst(place_of(os.environ))) as run:
    for pushed in range(1, 21):
        run.push(step=pushed, loss=pushed)
        time.sleep(0.12)
print("sent:", sent[0], flush=True)`;
  const rules = {
    objective: { name: "loss", type: "minimize" },
    rules: [{ name: "loss", value: "1000", comparison: "greater" }],
  };
  const annotations = { [ANNOTATIONS.earlyStopping]: JSON.stringify(rules) };
  await start(client, "after-outage", program, (job) => ({
    ...job,
    metadata: { ...job.metadata, annotations },
  }));
  assert.equal(await lineOf(client, "after-outage", 0), "sent: /history\n");
  const isDone = (job: TrainJob) => job.status?.trainerStatus?.progressPercentage === 100;
  await trainJobThat(client, "after-outage", "is at 100 %", isDone);
  const reader = await observer(client, "reader-of-history");
  const { body } = await reader.read(standalone(), "after-outage", { query: "?limit=5000" });
  const { log } = observation.parse(body);
  assert.deepEqual(
    log.map(({ value }) => Number(value)),
    Array.from({ length: 20 }, (_, i) => i + 1),
  );
});
