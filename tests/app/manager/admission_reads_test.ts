/** Tests of the reads that reviews cost: reviews name objects that do not exist as often as somebody likes. */
import assert from "node:assert/strict";
import { DEFAULT_V1_SETTINGS } from "../../../controller/jobs/v1_settings.ts";
import { createCaches } from "../../../app/manager/caches.ts";
import { MANAGER_PARTS } from "../../../app/manager/rights.ts";
import { createAdmission } from "../../../app/manager/webhook_handlers.ts";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import { createSwitch } from "../../../platform/base/switch.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { connectionTo } from "../../../platform/kube/connection/kubeconfig.ts";
import { createAdmissionHttp } from "../../../webhook/admission_http.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import { v1WebhookPaths, WEBHOOK_PATHS } from "../../../webhook/webhook_paths.ts";
import { v1Job } from "../../controller/jobs/v1_jobs.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import {
  admissionRequest,
  pod,
  replicatedJob,
  review,
  runtime,
  runtimeSpec,
  trainJob,
} from "../../webhook/builders.ts";

const API_SERVER = "10.0.0.9";
/** How many pods a job may have here. */
const MAX_PODS = 6;

/** A runtime of Volcano whose two jobs have those priority classes. */
function gangRuntime(classes: readonly string[]) {
  const jobs = classes.map((priorityClassName, index) => {
    const job = index === 0 ? replicatedJob("node", "trainer") : replicatedJob(`job-${index}`);
    Object.assign(job.template.spec?.template.spec ?? {}, { priorityClassName });
    return job;
  });
  return runtime(runtimeSpec(jobs, { podGroupPolicy: { volcano: {} } }));
}

/** Names of runtimes with their priority classes; only `there` exists. */
const GANGS: Readonly<Record<string, readonly string[]>> = {
  "gang": ["there", "gone"],
  "gang-of-the-system": ["there", "system-node-critical", "gone"],
};

/** Admission over empty caches, and an API server that counts reads and has three runtimes and a priority class. */
function bench() {
  const asked: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const name = new URL(request.url).pathname.split("/").at(-1) ?? "";
    asked.push(name);
    const classes = GANGS[name];
    if (classes !== undefined) return Response.json(gangRuntime(classes));
    if (name === "there") return Response.json({ metadata: { name }, value: 1 });
    if (name === "rt") return Response.json(runtime(runtimeSpec()));
    const message = `${name} not found`;
    return Response.json({ kind: "Status", code: 404, reason: "NotFound", message }, {
      status: 404,
    });
  });
  const clock = new FakeClock();
  const client = createClient({
    connection: connectionTo({ server: `http://127.0.0.1:${server.addr.port}`, token: "t" }),
  });
  const parts = { kinds: JOB_KINDS, client, clock };
  const caches = createCaches({
    ...parts,
    v1Kinds: { of: createSwitch },
    trialResources: { of: createSwitch },
    parts: new Set(MANAGER_PARTS),
    namespace: "me",
    onRestart() {},
    onSkipped() {},
  });
  const handle = createAdmissionHttp(
    createAdmission({
      ...parts,
      caches,
      endpoint: () => ({ url: "https://status:8082", caBundle: "CA" }),
      executor: () => "builtin",
      configuration: { ...DEFAULT_V1_SETTINGS, maxPodsPerJob: MAX_PODS, failureMessages: true },
      runtimeDefinitions: { droppedFor: () => Promise.resolve([]) },
    }),
    clock,
    { isReserved: (peer) => peer === API_SERVER },
  );
  const from = { peer: "10.0.0.1" };
  async function send(path: string, body: unknown) {
    const text = JSON.stringify(body);
    const headers = { "content-type": "application/json", "content-length": String(text.length) };
    const answer = await handle({
      ...admissionRequest({ url: path, headers, body: [text] }),
      ...from,
    });
    return { status: answer.status, ...JSON.parse(answer.body).response };
  }
  return {
    asked,
    clock,
    from,
    send,
    useRuntime: (name: string, namespace = "ns", kind = "ClusterTrainingRuntime") => {
      const runtimeRef = { name, kind, apiGroup: "trainer.kubeflow.org" };
      const job = trainJob({ runtimeRef }, { namespace });
      return send(WEBHOOK_PATHS.validateTrainJobs, review(job, { namespace }));
    },
    ofTrial: (name: string) => {
      const labels = { [LABELS.trainJobName]: "tj", [LABELS.trial]: name };
      const kind = { group: "", version: "v1", kind: "Pod" };
      return send(WEBHOOK_PATHS.mutatePods, review(pod({ labels }), { kind }));
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

Deno.test("`createAdmission()` reads a runtime that no cache holds, and one that does not exist once a second", async () => {
  await using it = bench();
  assert.equal((await it.useRuntime("rt")).allowed, true);
  for (let i = 0; i < 5; i++) {
    const { allowed, status } = await it.useRuntime("made-up");
    assert.equal(allowed, false);
    assert.equal(status.code, 403);
    assert.match(status.message, /"made-up" not found/);
  }
  assert.deepEqual(it.asked, ["rt", "made-up"]);
  await it.clock.advance(1000);
  await it.useRuntime("made-up");
  assert.deepEqual(it.asked, ["rt", "made-up", "made-up"]);
});

Deno.test("`createAdmission()` refuses jobs of more pods than the setting says", async () => {
  await using it = bench();
  const ofTrainJob = (numNodes: number) =>
    it.send(WEBHOOK_PATHS.validateTrainJobs, review(trainJob({ trainer: { numNodes } })));
  const kind = V1_KINDS.PyTorchJob;
  const v1 = (workers: number) => v1Job(kind.kind, { Master: 1, Worker: workers });
  const ofV1 = (workers: number, old?: number) =>
    it.send(
      v1WebhookPaths(kind).validate,
      review(v1(workers), {
        kind: { group: "kubeflow.org", version: "v1", kind: kind.kind },
        ...(old !== undefined && { operation: "UPDATE", oldObject: v1(old) }),
      }),
    );
  assert.equal((await ofTrainJob(MAX_PODS)).allowed, true);
  const { allowed, status } = await ofTrainJob(2 ** 31 - 1);
  assert.equal(allowed, false);
  assert.match(
    status.message,
    /spec\.trainer\.numNodes: Invalid value: 2147483647: makes 2147483647 pods of the job, at most 6 /,
  );
  assert.equal((await ofV1(MAX_PODS - 1)).allowed, true);
  const refusal = /spec\.pytorchReplicaSpecs\[Worker\]\.replicas: Invalid value: 6: makes 7 pods/;
  assert.match((await ofV1(MAX_PODS)).status.message, refusal);
  // A change of one that is too large already is judged by what it changes.
  assert.equal((await ofV1(MAX_PODS, MAX_PODS)).allowed, true);
  assert.match((await ofV1(MAX_PODS, 1)).status.message, refusal);
});

Deno.test("`createAdmission()` reads a Trial that does not exist once", async () => {
  await using it = bench();
  for (let i = 0; i < 5; i++) {
    const { allowed, warnings } = await it.ofTrial("made-up");
    assert.equal(allowed, true);
    assert.match(warnings.join(), /there is no Trial made-up/);
  }
  assert.deepEqual(it.asked, ["made-up"]);
});

Deno.test("`createAdmission()` looks for the priority classes of Volcano's gangs, up to one of the system", async () => {
  await using it = bench();
  const { allowed, status } = await it.useRuntime("gang");
  assert.equal(allowed, false);
  const text =
    'PriorityClass "gone" doesn\'t exist: PriorityClass.scheduling.k8s.io "gone" not found';
  assert.equal(
    status.message,
    `spec.templateSpec.priorityClassName: Invalid value: "gone": ${text}`,
  );
  assert.deepEqual(it.asked, ["gang", "there", "gone"]);
  assert.equal((await it.useRuntime("gang-of-the-system")).allowed, true);
  assert.deepEqual(
    it.asked.slice(3),
    ["gang-of-the-system"],
    "what was read a moment ago is known",
  );
});

Deno.test("reviews that name made-up objects are asked to try again when their reads are spent, never told that there is none", async () => {
  await using it = bench();
  const names = Array.from({ length: 250 }, (_, index) => `made-up-${index}`);
  const answers = await Promise.all(
    names.map((name, index) =>
      index % 2 === 0 ? it.useRuntime(name, "ns", "TrainingRuntime") : it.ofTrial(name)
    ),
  );
  assert.equal(it.asked.length, 200);
  const refused = answers.filter(({ status }) => status?.code === 429);
  assert.equal(refused.length, 50);
  for (const { allowed, status } of refused) {
    assert.equal(allowed, false);
    assert.equal(status.reason, "TooManyRequests");
    assert.match(status.message, /objects of namespace ns that no cache holds: try again soon/);
    assert.deepEqual(status.details, { retryAfterSeconds: 1 });
  }
  // An API server whose address is reserved has reads of its own, and remembers for itself.
  it.from.peer = API_SERVER;
  assert.match((await it.useRuntime("c", "ns", "TrainingRuntime")).status.message, /not found/);
  it.from.peer = "10.0.0.1";
  // Another namespace has reads left, and so has this one a moment later.
  assert.match((await it.useRuntime("a", "other", "TrainingRuntime")).status.message, /not found/);
  await it.clock.advance(1000);
  assert.match((await it.useRuntime("b", "ns", "TrainingRuntime")).status.message, /not found/);
});
