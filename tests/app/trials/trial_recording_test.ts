/** Tests of trials from end to end: pushes fill the log, a rule is met, trial and job are stopped. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import {
  push,
  shareStandalone,
  trainJob,
  trainJobThat,
  withStandalone,
} from "../../support/standalone.ts";
import { freePort } from "../../support/free_port.ts";
import { lossAbove, trialThat } from "../../support/trials.ts";
import { until } from "../../support/until.ts";
import {
  has,
  metricsBody,
  podToken,
  prepareTrials,
  pushLoss,
  startTrial,
} from "./trial_support.ts";

const GREATER = lossAbove("0.5", 2);
const shared = shareStandalone(prepareTrials);

Deno.test("a trial whose rule is met gets control.stop, and is stopped with its job; its observation is kept", async () => {
  const standalone = shared();
  const { client } = standalone;
  await startTrial(client, "bad", GREATER);
  const { pod, token } = await podToken(client, "bad");
  assert.equal(pod.metadata?.labels?.[LABELS.trial], "bad");

  const first = await pushLoss(standalone, "bad", token, "0.9");
  assert.deepEqual([first.status, Object.hasOwn(Object(first.body), "control")], [200, false]);
  const deciding = await pushLoss(standalone, "bad", token, "0.8");
  assert.equal(deciding.status, 200);
  assert.partialDeepStrictEqual(deciding.body, {
    control: { stop: true, reason: "EarlyStopped" },
  });

  const trial = await trialThat(client, "bad", "is stopped", (it) => has(it, "EarlyStopped"));
  assert.deepEqual(trial.status?.observation?.metrics, [{
    name: "loss",
    min: "0.8",
    max: "0.9",
    latest: "0.8",
  }]);
  assert.ok(trial.status?.completionTime);
  const job = await trainJobThat(client, "bad", "is over", (it) => has(it, "Complete"));
  assert.equal(has(job, "EarlyStopped"), true);
  await trainJobThat(
    client,
    "bad",
    "says EarlyStopped",
    (it) => it.status?.state === "EarlyStopped",
  );
  await until("its JobSet is gone", async () => {
    const { items } = await client.list(KINDS.jobSet, { namespace: "default" });
    return !items.some(({ metadata }) => metadata?.name === "bad");
  });
  await until("Trial and TrainJob have an event each", async () => {
    const events = await client.list(KINDS.event, { namespace: "default" });
    const about = events.items.filter(({ reason, involvedObject }) =>
      reason === "EarlyStopped" && involvedObject.name === "bad"
    );
    const kinds = about.map(({ involvedObject }) => involvedObject.kind).sort();
    return kinds.join() === "TrainJob,Trial";
  });
});

Deno.test("a trial whose rules are not met is recorded and not stopped, and its job ends without delay", async () => {
  const standalone = shared();
  const { client } = standalone;
  await startTrial(client, "good", GREATER);
  const { token } = await podToken(client, "good");
  for (const loss of ["0.4", "0.3", "0.9"]) {
    const answer = await pushLoss(standalone, "good", token, loss);
    assert.equal(answer.status, 200);
    assert.ok(!Object.hasOwn(Object(answer.body), "control"), JSON.stringify(answer.body));
  }
  await trainJobThat(
    client,
    "good",
    "shows its progress",
    ({ status }) => status?.trainerStatus?.metrics?.[0]?.value === "0.9",
  );
  const trial = await client.get(KINDS.trial, { namespace: "default", name: "good" });
  assert.equal(trial.status?.conditions, undefined);
});

const answers: Record<string, { value: string; status: number; warns: boolean; stops: boolean }> = {
  "an empty value": { value: "", status: 422, warns: false, stops: false },
  "a value of 300 characters": { value: "1".repeat(300), status: 422, warns: false, stops: false },
  "text": { value: "fine", status: 200, warns: true, stops: false },
  "1e400": { value: "1e400", status: 200, warns: true, stops: true },
  "NaN": { value: "NaN", status: 200, warns: true, stops: true },
};

Deno.test("a value that is not a number is reported, and the worst value stops the trial", async (t) => {
  const standalone = shared();
  const { client } = standalone;
  const rule = lossAbove("100");
  for (
    const [index, [sentence, { value, status, warns, stops }]] of Object.entries(answers)
      .entries()
  ) {
    const name = `t${index}`;
    await startTrial(client, name, rule);
    const { token } = await podToken(client, name);
    await t.step(sentence, async () => {
      const answer = await push(standalone, { name }, token, metricsBody({ loss: value }));
      assert.equal(answer.status, status);
      const body = Object(answer.body);
      assert.equal(Object.hasOwn(body, "warnings"), warns, JSON.stringify(body));
      assert.equal(Object.hasOwn(body, "control"), stops, JSON.stringify(body));
      if (stops) await trialThat(client, name, "is stopped", (it) => has(it, "EarlyStopped"));
    });
  }
});

Deno.test("a push for a trial that is being deleted is refused as one for a job that is gone", async () => {
  const standalone = shared();
  const { client } = standalone;
  await startTrial(client, "going", GREATER);
  const { token } = await podToken(client, "going");
  assert.equal((await pushLoss(standalone, "going", token, "0.4")).status, 200);
  const key = { namespace: "default", name: "going" };
  const keep = (finalizers: string[] | null) =>
    client.patch(KINDS.trial, key, { type: "merge", body: { metadata: { finalizers } } });
  await keep(["example.com/clean-metrics-in-db"]);
  await client.delete(KINDS.trial, key);
  const refused = await until("a refusal", async () => {
    const answer = await pushLoss(standalone, "going", token, "0.3");
    return answer.status === 404 ? answer : undefined;
  });
  assert.equal(Object(refused.body).reason, "NotFound");
  await keep(null);
});

Deno.test("while the observation log is down a trial's push gets 503, and its progress is shown", () =>
  withStandalone(async (standalone) => {
    const { client } = standalone;
    await prepareTrials(client);
    await startTrial(client, "down", GREATER);
    const { token } = await podToken(client, "down");
    const answer = await pushLoss(standalone, "down", token, "0.9");
    assert.equal(answer.status, 503, JSON.stringify(answer.body));
    assert.ok(Number(answer.headers.get("retry-after")) >= 1);
    assert.partialDeepStrictEqual(answer.body, { reason: "ServiceUnavailable", code: 503 });
    await trainJobThat(
      client,
      "down",
      "shows its progress all the same",
      ({ status }) => status?.trainerStatus?.metrics?.[0]?.value === "0.9",
    );
    await client.create(KINDS.trainJob, trainJob("plain", "idle"));
    const plain = await podToken(client, "plain");
    const unrecorded = await pushLoss(standalone, "plain", plain.token, "0.9");
    assert.equal(unrecorded.status, 200, "nothing is recorded of it, so nothing is missed");
  }, { settings: { observationSink: "katib", katibDbManager: `127.0.0.1:${freePort()}` } }));

Deno.test("a job without a trial stops by the rules of its annotation, after its grace", async () => {
  const standalone = shared();
  const { client } = standalone;
  const job = trainJob("own", "idle");
  const earlyStopping = {
    objective: { name: "acc", type: "maximize" },
    rules: [{ name: "acc", value: "0.5", comparison: "less", startStep: 1 }],
  };
  await client.create(KINDS.trainJob, {
    ...job,
    metadata: {
      ...job.metadata,
      annotations: {
        "trainer.kubeflow.org/early-stopping": JSON.stringify(earlyStopping),
        "trainer.kubeflow.org/early-stopping-grace": "200ms",
      },
    },
  });
  const { token } = await podToken(client, "own");
  const answer = await push(standalone, { name: "own" }, token, metricsBody({ acc: "0.1" }));
  assert.partialDeepStrictEqual(answer.body, { control: { stop: true } });
  const later = await push(standalone, { name: "own" }, token, metricsBody({ acc: "0.9" }));
  assert.ok(later.status === 200 || later.status === 403, String(later.status));
  await trainJobThat(client, "own", "is stopped", (it) => it.status?.state === "EarlyStopped");
});

Deno.test("a job stops at a step that its pod pushes, which its status does not show", async () => {
  const standalone = shared();
  const { client } = standalone;
  const job = trainJob("steps", "idle");
  const earlyStopping = {
    objective: { name: "acc", type: "maximize" },
    rules: [{ name: "acc", value: "0.5", comparison: "less", startStep: 100, unit: "step" }],
  };
  await client.create(KINDS.trainJob, {
    ...job,
    metadata: {
      ...job.metadata,
      annotations: {
        "trainer.kubeflow.org/early-stopping": JSON.stringify(earlyStopping),
        "trainer.kubeflow.org/early-stopping-grace": "30s",
      },
    },
  });
  const { token } = await podToken(client, "steps");
  const pushStep = async (acc: string, step: number) => {
    const { trainerStatus } = metricsBody({ acc });
    const body = { trainerStatus: { ...trainerStatus, progressPercentage: 10, step } };
    return (await push(standalone, { name: "steps" }, token, body)).body;
  };
  const early = await pushStep("0.1", 99);
  assert.partialDeepStrictEqual(early, { trainerStatus: { step: 99 } });
  assert.deepEqual(Object.keys(z.looseObject({}).parse(early)), ["trainerStatus"]);
  assert.partialDeepStrictEqual(await pushStep("0.2", 128), {
    control: { stop: true, message: "stopped early: acc 0.2 is less than 0.5, at step 128" },
  });
  const { status } = await trainJobThat(
    client,
    "steps",
    "shows its progress",
    (it) => it.status?.trainerStatus?.progressPercentage === 10,
  );
  assert.equal(status?.trainerStatus?.step, undefined);
});
