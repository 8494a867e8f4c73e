/** Test of a manager that is killed repeatedly while trials are recorded: each is stopped once. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { z } from "zod";
import { type ControlPlane, startControlPlane } from "../../../app/standalone/control_plane.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { CA_KEY, LABELS, MANAGER, PUSH_AUDIENCE } from "../../../crds/names.ts";
import { createSqliteSink } from "../../../katib/log/sqlite_sink.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { KubeError, TransportError } from "../../../platform/kube/errors.ts";
import { requestToken, shellRuntime } from "../../support/standalone.ts";
import { createTrial, createTrialsJob, installTrials, lossAbove } from "../../support/trials.ts";
import { until } from "../../support/until.ts";
import { type ManagerProcess, startManagerProcess } from "../manager/manager_process.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";

const TRIALS = 12;
/** The report at which the rule is tested, and met. */
const LAST = 6;
const LONG = { timeoutMs: 120_000 } as const;

const nameOf = (index: number) => `killed-${index}`;
const lossAt = (step: number) => String(1 - step / 100);

async function caOf(client: KubeClient): Promise<string> {
  const key = { namespace: MANAGER.namespace, name: MANAGER.certificateSecret };
  const { data } = await client.get(KINDS.secret, key);
  return Buffer.from(data?.[CA_KEY] ?? "", "base64").toString();
}

const answerSchema = z.looseObject({
  control: z.looseObject({ stop: z.boolean() }).optional(),
});

/** Stage with a manager that is killed, and the rows that were acknowledged meanwhile. */
interface Stage {
  manager: ManagerProcess;
  acknowledged: number;
  readonly plane: ControlPlane;
  readonly ca: string;
}

/** While no manager serves the webhook the API server refuses TrainJobs. */
async function patiently<T>(what: string, work: () => Promise<T>): Promise<T> {
  return await until(what, async () => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof TransportError) return undefined;
      if (error instanceof KubeError && (error.code === 429 || error.code >= 500)) return undefined;
      throw error;
    }
  }, LONG);
}

/** One push until it is taken, as a client that retries does. Returns whether the answer has control.stop. */
async function pushPatiently(stage: Stage, name: string, token: string, step: number) {
  const body = JSON.stringify({
    trainerStatus: {
      metrics: [{ name: "loss", value: lossAt(step) }],
      lastUpdatedTime: new Date().toISOString(),
    },
    sequence: step,
  });
  using client = Deno.createHttpClient({ caCerts: [stage.ca] });
  return await until(`push ${step} of ${name} is taken`, async () => {
    const url = `${stage.manager.status}${statusPath(TRAINJOB, "default", name)}`;
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(5_000);
    try {
      const answer = await fetch(url, { method: "POST", client, headers, body, signal });
      const text = await answer.text();
      // A manager that has just started may not have seen the pod yet.
      if (answer.status !== 200) return undefined;
      stage.acknowledged++;
      return { stops: answerSchema.parse(JSON.parse(text)).control?.stop ?? false };
    } catch {
      return undefined; // It was killed.
    }
  }, { ...LONG, everyMs: 100 });
}

/** A trial from its creation until its trainer gets control.stop. */
async function train(stage: Stage, index: number): Promise<void> {
  const { client } = stage.plane;
  const name = nameOf(index);
  const trial = await createTrial(client, name, "idle", {
    spec: { earlyStoppingRules: [lossAbove("0.5", LAST)] },
    ...(index % 2 === 0
      ? { annotations: { "trainer.kubeflow.org/early-stopping-grace": "1s" } }
      : {}),
  });
  await patiently(`TrainJob ${name} is taken`, () => createTrialsJob(client, trial));
  const pod = await until(`the pod of ${name}`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items[0]?.metadata;
  }, LONG);
  const account = { namespace: "default", name: "default" };
  const token = await requestToken(client, account, {
    audience: PUSH_AUDIENCE,
    pod: { name: pod.name ?? "", uid: pod.uid ?? "" },
  });
  for (let step = 1; step <= LAST; step++) {
    const { stops } = await pushPatiently(stage, name, token, step);
    assert.equal(stops, step === LAST, `${name} at report ${step}`);
  }
}

async function assertStoppedOnce(client: KubeClient, name: string): Promise<void> {
  const key = { namespace: "default", name };
  const job = await until(`${name} is stopped`, async () => {
    const it = await client.get(KINDS.trainJob, key);
    return it.status?.state === "EarlyStopped" ? it : undefined;
  }, LONG);
  assert.deepEqual(job.status?.conditions?.map(({ type, reason }) => [type, reason]), [
    ["EarlyStopped", "RulesMet"],
    ["Complete", "EarlyStopped"],
  ]);
  const { status } = await client.get(KINDS.trial, key);
  assert.deepEqual(status?.conditions?.map(({ type }) => type), ["EarlyStopped"], name);
  assert.deepEqual(status?.observation?.metrics, [
    { name: "loss", min: lossAt(LAST), max: lossAt(1), latest: lossAt(LAST) },
  ]);
}

async function start(plane: ControlPlane, folder: string, life: number): Promise<ManagerProcess> {
  const manager = await startManagerProcess({
    kubeconfig: plane.kubeconfig,
    name: `life-${life}`,
    flags: [`--observation-sink=sqlite:${folder}/log.db`],
  });
  await until("the manager is ready", async () => (await manager.readyz()).code === 200, LONG);
  return manager;
}

Deno.test("trials are recorded and stopped exactly once while their manager is killed", async () => {
  const folder = await Deno.makeTempDir();
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY, kubelet: false });
  let stage: Stage | undefined;
  try {
    const { client } = plane;
    await installTrials(client);
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"));
    const manager = await start(plane, folder, 0);
    stage = { manager, acknowledged: 0, plane, ca: await caOf(client) };
    const { promise: failed, reject: fail } = Promise.withResolvers<never>();
    const training = Promise.all(
      Array.from({ length: TRIALS }, (_, index) => train(stage as Stage, index)),
    );
    training.catch(fail);
    for (const [life, share] of [0.3, 0.7, 0.99].entries()) {
      const wanted = Math.floor(share * TRIALS * LAST);
      const reached = until(`${wanted} pushes`, () => (stage?.acknowledged ?? 0) >= wanted, {
        ...LONG,
        everyMs: 1,
      });
      await Promise.race([reached, failed]);
      await stage.manager.stop("SIGKILL");
      stage.manager = await start(plane, folder, life + 1);
    }
    await training;
    for (let index = 0; index < TRIALS; index++) await assertStoppedOnce(client, nameOf(index));
    const { items } = await client.list(KINDS.event, { namespace: "default" });
    const told = items.filter((it) => it.reason === "EarlyStopped")
      .map((it) => `${it.involvedObject.kind} ${it.involvedObject.name} ${it.count}`);
    assert.ok(told.length > 0);
    assert.equal(new Set(told).size, told.length, "no event comes twice");
    assert.deepEqual(told.filter((it) => !it.endsWith(" 1")), []);
    await stage.manager.stop("SIGTERM");
    await assertRowsOnce(client, folder);
  } finally {
    await stage?.manager.stop("SIGKILL").catch(() => {}); // It may have ended.
    await plane.stop();
    await Deno.remove(folder, { recursive: true });
  }
});

async function assertRowsOnce(client: KubeClient, folder: string): Promise<void> {
  const sink = createSqliteSink(`${folder}/log.db`, systemClock);
  try {
    for (let index = 0; index < TRIALS; index++) {
      const key = { namespace: "default", name: nameOf(index) };
      const { metadata: { uid = "" } } = await client.get(KINDS.trial, key);
      const { signal } = new AbortController();
      const rows = await sink.read({ kind: "trial", uid, ...key }, signal);
      const steps = Array.from({ length: LAST }, (_, step) => lossAt(step + 1));
      assert.deepEqual(rows.map(({ value }) => value), steps, key.name);
    }
  } finally {
    await sink.close();
  }
}
