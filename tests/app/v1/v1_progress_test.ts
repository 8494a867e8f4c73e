/** Tests of progress of the v1 kinds in a whole Milepost: identity, pushes, reading, and stopping early. */
import assert from "node:assert/strict";
import { z } from "zod";
import type { Standalone } from "../../../app/standalone/standalone.ts";
import { jobSchema, observationPath, statusPath, stopPath } from "../../../crds/job_kind.ts";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { CA_KEY, childNames, OBSERVATION_AUDIENCE, PUSH_AUDIENCE } from "../../../crds/names.ts";
import { V1_KIND_LIST, V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { progress, requestToken, shareStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { v1Job } from "../../controller/jobs/v1_jobs.ts";

const standalone = shareStandalone();
const DEFAULT_ACCOUNT = { namespace: "default", name: "default" };

/** Few replicas of each kind. */
const TYPES: Readonly<Record<V1KindName, Readonly<Record<string, number>>>> = {
  TFJob: { Worker: 1 },
  PyTorchJob: { Master: 1 },
  XGBoostJob: { Master: 1 },
  MXJob: { Scheduler: 1, Server: 1, Worker: 1 },
  // The launcher cannot start here: nothing brings it kubectl.
  MPIJob: { Launcher: 1, Worker: 1 },
  PaddleJob: { Worker: 1 },
  JAXJob: { Worker: 1 },
};

function jobKindOf(kind: V1KindName) {
  const found = JOB_KINDS.all.find((it) => it.kind === kind);
  assert.ok(found);
  return found;
}

/** Creates a job whose pods sleep, and returns one of them when it is there. */
async function createJob(
  { client }: Standalone,
  kind: V1KindName,
  name: string,
  annotations: Record<string, string> = {},
): Promise<Pod> {
  const job = v1Job(kind, TYPES[kind], kind === "MXJob" ? { jobMode: "MXTrain" } : {});
  const text = JSON.stringify(job).replaceAll(
    '"image":"i"',
    '"image":"none","command":["sleep","120"]',
  );
  await client.create(V1_RESOURCES[kind], {
    ...V1_RESOURCES[kind].parse(JSON.parse(text)),
    metadata: { name, namespace: "default", annotations },
  });
  return await until(`a pod of ${name}`, async () => {
    const type = kind === "MPIJob" ? `,${V1_LABELS.replicaType}=worker` : "";
    const labelSelector = `${V1_LABELS.jobName}=${name}${type}`;
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items[0];
  }, { timeoutMs: 60_000 });
}

async function tokenOf({ client }: Standalone, { metadata, spec }: Pod): Promise<string> {
  const { name = "", uid = "" } = metadata ?? {};
  const account = { namespace: "default", name: spec?.serviceAccountName ?? "default" };
  return await requestToken(client, account, {
    audience: PUSH_AUDIENCE,
    pod: { name, uid },
  });
}

/** Calls the status port. */
async function call(
  { status: base, caBundle }: Standalone,
  path: string,
  { token, body, method = body === undefined ? "GET" : "POST" }: {
    token: string;
    body?: unknown;
    method?: string;
  },
) {
  using client = Deno.createHttpClient({ caCerts: [caBundle()] });
  const answer = await fetch(`${base}${path}`, {
    method,
    client,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  return { code: answer.status, body: z.looseObject({}).parse(await answer.json()) };
}

const read = async ({ client }: Standalone, kind: V1KindName, name: string) =>
  jobSchema.parse(await client.get(V1_RESOURCES[kind], { namespace: "default", name }));

for (const { kind, plural } of V1_KIND_LIST) {
  Deno.test(`a pod of a ${kind} gets an identity, and its push shows on the job`, async () => {
    const all = standalone();
    const name = `push-${plural}`;
    const pod = await createJob(all, kind, name);
    const env = pod.spec?.containers[0]?.env ?? [];
    const path = statusPath(jobKindOf(kind), "default", name);
    assert.ok(env.some(({ value }) => value?.endsWith(path)), JSON.stringify(env));
    const { data } = await all.client.get(KINDS.configMap, {
      namespace: "default",
      name: childNames.tlsConfig(name),
    });
    assert.equal(data?.[CA_KEY], all.caBundle());
    const token = await tokenOf(all, pod);
    const pushed = await call(all, path, { token, body: progress(42) });
    assert.equal(pushed.code, 200, JSON.stringify(pushed.body));
    await until("the progress is on the job", async () => {
      const { status } = await read(all, kind, name);
      const { trainerStatus } = z.looseObject({
        trainerStatus: z.looseObject({ progressPercentage: z.number() }).optional(),
      }).parse(status ?? {});
      return trainerStatus?.progressPercentage === 42;
    });
    const other = kind === "TFJob" ? "PyTorchJob" : "TFJob";
    const elsewhere = await call(all, statusPath(jobKindOf(other), "default", name), {
      token,
      body: progress(1),
    });
    assert.notEqual(elsewhere.code, 200, "another kind's job of the same name");
    await all.client.delete(V1_RESOURCES[kind], { namespace: "default", name });
  });
}

Deno.test("a pod of a PyTorchJob cannot push for another one", async () => {
  const all = standalone();
  const [mine] = [
    await createJob(all, "PyTorchJob", "mine"),
    await createJob(all, "PyTorchJob", "yours"),
  ];
  const { code } = await call(all, statusPath(jobKindOf("PyTorchJob"), "default", "yours"), {
    token: await tokenOf(all, mine),
    body: progress(1),
  });
  assert.equal(code, 403);
});

Deno.test("a PyTorchJob is stopped early by its own rules, without a trial, and its pods go", async () => {
  const all = standalone();
  const rules = {
    objective: { name: "loss", type: "minimize" },
    rules: [{ name: "loss", comparison: "greater", value: "1" }],
  };
  const pod = await createJob(all, "PyTorchJob", "hopeless", {
    "trainer.kubeflow.org/early-stopping": JSON.stringify(rules),
  });
  const path = statusPath(jobKindOf("PyTorchJob"), "default", "hopeless");
  const body = {
    trainerStatus: {
      metrics: [{ name: "loss", value: "9" }],
      lastUpdatedTime: new Date().toISOString(),
    },
  };
  const { code, body: answer } = await call(all, path, { token: await tokenOf(all, pod), body });
  assert.equal(code, 200, JSON.stringify(answer));
  await assertStopped(all, "hopeless");
});

/** Waits until the job is stopped, with the conditions of an end that readers of this kind know. */
async function assertStopped(all: Standalone, name: string): Promise<void> {
  const { status } = await until(`${name} is stopped`, async () => {
    const job = await read(all, "PyTorchJob", name);
    const isStopped = job.status?.conditions?.some(({ type, status }) =>
      type === "EarlyStopped" && status === "True"
    );
    return isStopped && job;
  }, { timeoutMs: 60_000 });
  const conditions = status?.conditions ?? [];
  const of = (type: string) => conditions.find((it) => it.type === type);
  assert.equal(of("Succeeded")?.status, "True", JSON.stringify(conditions));
  assert.equal(of("Succeeded")?.reason, "PyTorchJobEarlyStopped");
  assert.notEqual(of("Running")?.status, "True");
  await until("no pod runs", async () => {
    const labelSelector = `${V1_LABELS.jobName}=${name}`;
    const { items } = await all.client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items.every(({ status }) => status?.phase !== "Running" && status?.phase !== "Pending");
  }, { timeoutMs: 60_000 });
}

Deno.test("a PyTorchJob is stopped by request, and its status and observation are read", async () => {
  const all = standalone();
  const kind = jobKindOf("PyTorchJob");
  const pod = await createJob(all, "PyTorchJob", "asked");
  await call(all, statusPath(kind, "default", "asked"), {
    token: await tokenOf(all, pod),
    body: progress(7),
  });
  const token = await requestToken(all.client, DEFAULT_ACCOUNT, { audience: OBSERVATION_AUDIENCE });
  const refused = await call(all, stopPath(kind, "default", "asked"), {
    token,
    body: { reason: "Pruned", message: "not good enough", graceSeconds: 0 },
  });
  assert.equal(refused.code, 403, "who may not update the job");
  const { code } = await call(all, observationPath(kind, "default", "asked"), { token });
  assert.equal(code, 403, "who may not read the job");
});

Deno.test("the kinds are those of the table", () => {
  assert.deepEqual(Object.keys(TYPES), Object.keys(V1_KINDS));
});
