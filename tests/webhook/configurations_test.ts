/** Tests of the webhook configurations: their content, and their repair. */
import { JOB_KINDS, withTrialResources } from "../../crds/job_kinds.ts";
import { trialResourceKind } from "../../crds/trial_resource.ts";
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { V1_KINDS } from "../../crds/v1/kinds.ts";
import { createConfigurationSync } from "../../webhook/configuration_sync.ts";
import {
  type ConfigurationOptions,
  mutatingConfiguration,
  validatingConfiguration,
} from "../../webhook/configurations.ts";
import { failure, manualClock, MemoryStore } from "./builders.ts";

const service = { namespace: "ns", name: "svc" };
const OPTIONS: ConfigurationOptions = {
  target: { service },
  caBundle: "PEM",
  injectPods: true,
  kinds: JOB_KINDS,
  v1Kinds: [],
  optimizationJobs: true,
};

Deno.test("`mutatingConfiguration()` registers pods of TrainJobs and of trials apart", () => {
  const webhooks = mutatingConfiguration(OPTIONS).webhooks ?? [];
  const [plain, trial] = webhooks;
  const key = "trainer.kubeflow.org/trainjob-name";
  const expressions = (webhook = plain) => webhook?.objectSelector?.matchExpressions;
  assert.deepEqual([plain?.name, plain?.failurePolicy], ["pods.trainer.kubeflow.org", "Ignore"]);
  assert.deepEqual(expressions(plain), [
    { key, operator: "Exists" },
    { key: "trainer.kubeflow.org/trial", operator: "DoesNotExist" },
  ]);
  assert.deepEqual([trial?.name, trial?.failurePolicy], [
    "trial-pods.trainer.kubeflow.org",
    "Fail",
  ]);
  assert.deepEqual(expressions(trial), [
    { key, operator: "Exists" },
    { key: "trainer.kubeflow.org/trial", operator: "Exists" },
  ]);
  for (const webhook of [plain, trial]) {
    assert.equal(webhook?.reinvocationPolicy, "IfNeeded");
    assert.deepEqual(webhook?.rules?.[0]?.operations, ["CREATE"]);
    assert.deepEqual(webhook?.clientConfig, {
      caBundle: btoa("PEM"),
      service: { ...service, path: "/mutate--v1-pod", port: 443 },
    });
  }
  assert.ok(webhooks.every((webhook) => webhook.sideEffects === "None"));
  assert.ok(webhooks.every((webhook) => (webhook.timeoutSeconds ?? 0) > 0));
});

Deno.test("`mutatingConfiguration()` registers the pods of trial resources, none of them twice", () => {
  const sweep = trialResourceKind({ kind: "Sweep", version: "v1", group: "example.org" }, "sweeps");
  const job = trialResourceKind({ kind: "Job", version: "v1", group: "batch" }, "jobs");
  const webhooks = (kinds = JOB_KINDS) =>
    mutatingConfiguration({ ...OPTIONS, kinds }).webhooks ?? [];
  const before = webhooks().map(({ name }) => name);
  const added = webhooks(withTrialResources([job, sweep]))
    .filter(({ name }) => !before.includes(name));
  const others = ["trainer.kubeflow.org/trainjob-name", "trainer.kubeflow.org/job-kind"]
    .map((key) => ({ key, operator: "DoesNotExist" }));
  const [katibs, ours] = ["katib.kubeflow.org/trial", "trainer.kubeflow.org/trial"];
  assert.deepEqual(
    added.map(({ name, failurePolicy, objectSelector }) => [
      name,
      failurePolicy,
      objectSelector?.matchExpressions,
    ]),
    [
      [
        "resource.trial-pods.trainer.kubeflow.org",
        "Fail",
        [{ key: katibs, operator: "Exists" }, ...others],
      ],
      [
        "labelled-resource.trial-pods.trainer.kubeflow.org",
        "Fail",
        [{ key: ours, operator: "Exists" }, { key: katibs, operator: "DoesNotExist" }, ...others],
      ],
    ],
  );
});

Deno.test("`mutatingConfiguration()` registers no pods while the feature gate is off", () => {
  const names = mutatingConfiguration({ ...OPTIONS, injectPods: false }).webhooks
    ?.map((webhook) => webhook.name);
  assert.deepEqual(names, ["defaulter.trainjob.trainer.kubeflow.org"]);
});

Deno.test("`validatingConfiguration()` covers TrainJobs, OptimizationJobs, and runtimes that do not opt out", () => {
  const { webhooks = [] } = validatingConfiguration(OPTIONS);
  assert.deepEqual(webhooks.map((webhook) => webhook.rules?.[0]?.resources?.[0]), [
    "trainjobs",
    "optimizationjobs",
    "trainingruntimes",
    "clustertrainingruntimes",
  ]);
  assert.deepEqual(webhooks.map((webhook) => webhook.objectSelector?.matchExpressions?.[0]), [
    undefined,
    undefined,
    ...Array(2).fill({
      key: "trainer.kubeflow.org/webhook-validation",
      operator: "NotIn",
      values: ["disabled"],
    }),
  ]);
  for (const { rules, failurePolicy } of webhooks) {
    assert.deepEqual(rules?.[0]?.operations, ["CREATE", "UPDATE"]);
    assert.equal(failurePolicy, "Fail");
  }
});

Deno.test("no TrainJob that is being deleted is asked about", () => {
  const ofTrainJobs = [mutatingConfiguration(OPTIONS), validatingConfiguration(OPTIONS)]
    .flatMap(({ webhooks = [] }) => webhooks)
    .filter(({ rules }) => rules?.[0]?.resources?.[0] === "trainjobs");
  assert.equal(ofTrainJobs.length, 2);
  for (const { matchConditions } of ofTrainJobs) {
    assert.equal(matchConditions?.[0]?.name, "not-being-deleted");
  }
});

Deno.test("configurations ask about the v1 kinds that are run, by upstream's names and paths", () => {
  const options = { ...OPTIONS, v1Kinds: [V1_KINDS.PyTorchJob] };
  const ofV1 = (
    { webhooks = [] }:
      | ReturnType<typeof mutatingConfiguration>
      | ReturnType<typeof validatingConfiguration>,
  ) => webhooks.filter(({ rules }) => rules?.[0]?.apiGroups?.[0] === "kubeflow.org");
  const all = [...ofV1(mutatingConfiguration(options)), ...ofV1(validatingConfiguration(options))];
  assert.deepEqual(
    all.map(({ name, clientConfig, failurePolicy, matchConditions }) => [
      name,
      clientConfig.service?.path,
      failurePolicy,
      matchConditions?.map((it) => it.name),
    ]),
    [
      [
        "defaulter.pytorchjob.training-operator.kubeflow.org",
        "/mutate-kubeflow-org-v1-pytorchjob",
        "Fail",
        ["not-being-deleted", "has-no-run-policy-or-has-rules"],
      ],
      [
        "validator.pytorchjob.training-operator.kubeflow.org",
        "/validate-kubeflow-org-v1-pytorchjob",
        "Fail",
        ["not-being-deleted"],
      ],
    ],
  );
  for (const { rules, matchPolicy } of all) {
    const [rule] = rules ?? [];
    assert.equal(matchPolicy, "Exact");
    assert.deepEqual(
      [rule?.apiVersions, rule?.resources, rule?.operations],
      [["v1"], ["pytorchjobs"], ["CREATE", "UPDATE"]],
    );
  }
  assert.deepEqual(ofV1(mutatingConfiguration(OPTIONS)), []);
  assert.deepEqual(ofV1(validatingConfiguration(OPTIONS)), []);
});

Deno.test("configurations of a base URL have no Service", () => {
  const target = { baseUrl: "https://127.0.0.1:9443/" };
  const { webhooks = [] } = validatingConfiguration({ ...OPTIONS, target });
  assert.deepEqual(webhooks[0]?.clientConfig, {
    caBundle: btoa("PEM"),
    url: "https://127.0.0.1:9443/validate-trainer-kubeflow-org-v1alpha1-trainjob",
  });
});

function setup(store = new MemoryStore()) {
  const wanted = { ...OPTIONS };
  const clock = manualClock();
  const changes = store.changes;
  const sync = createConfigurationSync({ store, desired: () => wanted, clock, changes });
  return { store, sync, wanted };
}

const mutating = (store: MemoryStore) =>
  store.get(KINDS.mutatingWebhookConfiguration, { name: "milepost-mutating" });

Deno.test("`sync()` creates both, and writes nothing if both are right", async () => {
  const { store, sync } = setup();
  await sync.sync();
  await sync.sync();
  assert.deepEqual([...store.objects.keys()], ["milepost-mutating", "milepost-validating"]);
  assert.equal(store.writes, 2);
});

Deno.test("`sync()` corrects what was edited, and keeps metadata of others", async () => {
  const { store, sync, wanted } = setup();
  await sync.sync();
  const found = await mutating(store);
  store.put({
    ...found,
    metadata: { ...found.metadata, ...{ labels: { a: "b" } } },
    ...{ webhooks: [] },
  });
  wanted.caBundle = "NEW";
  await sync.sync();
  const corrected = await mutating(store);
  assert.deepEqual(corrected.webhooks, mutatingConfiguration(wanted).webhooks);
  assert.deepEqual(corrected.metadata?.labels, { a: "b" });
});

Deno.test("`sync()` tries again after a conflict or another replica's creation", async () => {
  const { store, sync, wanted } = setup();
  store.fault = (verb) => {
    if (verb !== "create" || store.objects.size > 0) return undefined;
    store.put({ ...mutatingConfiguration(wanted), ...{ webhooks: [] } });
    return failure(409, "AlreadyExists");
  };
  await sync.sync();
  let conflicts = 0;
  store.fault = (verb) =>
    verb === "replace" && conflicts++ === 0 ? failure(409, "Conflict") : undefined;
  wanted.caBundle = "NEW";
  await sync.sync();
  assert.deepEqual((await mutating(store)).webhooks, mutatingConfiguration(wanted).webhooks);
});

Deno.test("`sync()` does not write forever to a server that stores it differently", async () => {
  const { store, sync, wanted } = setup();
  const put = store.put.bind(store);
  store.put = (object) => put({ ...object, ...{ webhooks: [] } });
  await sync.sync();
  await sync.sync();
  assert.equal(store.writes, 2);
  wanted.caBundle = "NEW";
  await sync.sync();
  assert.equal(store.writes, 4);
});

Deno.test("`sync()` gives up after too many conflicts, and throws other errors", async () => {
  const { store, sync, wanted } = setup();
  await sync.sync();
  wanted.caBundle = "NEW";
  const refuse = (code: number, reason: string) => (verb: string) =>
    verb === "replace" ? failure(code, reason) : undefined;
  store.fault = refuse(409, "Conflict");
  await assert.rejects(sync.sync(), /milepost-mutating changed 5 times/);
  store.fault = refuse(403, "Forbidden");
  await assert.rejects(sync.sync(), { code: 403 });
});

Deno.test("`run()` makes a deleted configuration again, and stops on abort", async () => {
  const store = new MemoryStore();
  const clock = manualClock();
  const stop = new AbortController();
  const sync = createConfigurationSync({
    store,
    desired: () => OPTIONS,
    clock,
    changes: store.changes,
  });
  const running = sync.run(stop.signal);
  const present = async () => {
    for (let turn = 0; store.objects.size < 2; turn++) {
      assert.ok(turn < 5_000, "both are there in time");
      await new Promise((resolve) => setTimeout(resolve, 1));
      clock.advance(100);
    }
  };
  await present();
  store.remove("milepost-mutating");
  await present();
  stop.abort();
  await running;
  assert.equal(store.listeners.size, 0);
});

Deno.test("`validatingConfiguration()` asks about OptimizationJobs only where they are run", () => {
  const asked = (optimizationJobs: boolean) =>
    (validatingConfiguration({ ...OPTIONS, optimizationJobs }).webhooks ?? [])
      .filter(({ name }) => name === "validator.optimizationjob.trainer.kubeflow.org");
  const [webhook] = asked(true);
  assert.deepEqual(webhook?.rules?.map(({ resources, operations }) => [resources, operations]), [
    [["optimizationjobs"], ["CREATE", "UPDATE"]],
  ]);
  assert.equal(
    webhook?.clientConfig.service?.path,
    "/validate-trainer-kubeflow-org-v1alpha1-optimizationjob",
  );
  assert.deepEqual(asked(false), []);
});
