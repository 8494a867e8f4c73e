/**
 * Tests of the admission policy for the manager's writes on a real API server: with the manager's own token
 * nothing can be written that the manager would not write, and the manager works under it.
 */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { ANNOTATIONS, childNames, MANAGER, policyChildNames } from "../../crds/names.ts";
import { trialRecordsName } from "../../crds/trial_records.ts";
import { DEFAULTS } from "../../deploy/installation_settings.ts";
import { parts } from "../../deploy/parts.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isNotFound, KubeError } from "../../platform/kube/errors.ts";
import type { OwnerReference } from "../../platform/kube/kubernetes.ts";
import { controllerReference } from "../../platform/kube/owner_references.ts";
import type { KubeMeta } from "../../platform/kube/resource.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { optimizationJob } from "../trials/search/builders.ts";
import { apply, type Cluster, kubectl, tryKubectl } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();

const NAMESPACE = "default";
const { group: GROUP } = KINDS.trainJob;
const inDefault = (name: string) => ({ namespace: NAMESPACE, name });
const STRANGER = "settings";
/** The name of a helper object of the TrainJob `mine`, which somebody else has taken. */
const TAKEN = childNames.tlsConfig("mine");

const ownedBy = (kind: string, name: string) => {
  const isOurs = kind === "TrainJob" || kind === "OptimizationJob";
  const apiVersion = isOurs ? "trainer.kubeflow.org/v1alpha1" : "example.com/v1";
  return [controllerReference({ apiVersion, kind, name, uid: crypto.randomUUID() })];
};

const configMap = (name: string, metadata: KubeMeta = {}) => ({
  metadata: { ...inDefault(name), ...metadata },
  data: { key: "value" },
});
const patched = (name: string, body: unknown) => (client: KubeClient) =>
  client.patch(KINDS.configMap, inDefault(name), { type: "merge", body });
const secret = (name: string, metadata: KubeMeta = {}, type = "Opaque") => (client: KubeClient) =>
  client.create(KINDS.secret, { metadata: { ...inDefault(name), ...metadata }, type });
const created = (name: string, metadata?: KubeMeta) => (client: KubeClient) =>
  client.create(KINDS.configMap, configMap(name, metadata));

const trial = (ownerReferences?: OwnerReference[]) => {
  const { metadata, ...job } = trainJob("forged", "shell", { spec: { suspend: true } });
  return { ...job, metadata: { ...metadata, ...(ownerReferences && { ownerReferences }) } };
};
const madeTrial = (ownerReferences?: OwnerReference[]) => (client: KubeClient) =>
  client.create(KINDS.trainJob, trial(ownerReferences));

/** The webhooks of a configuration that would be shown every Secret of the cluster. */
const spying = [{
  name: "spy.example.com",
  clientConfig: { url: "https://spy.example.com" },
  rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"], operations: ["*"] }],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
}];

/** Requests with the manager's token that its roles allow and the policy refuses. */
const HOSTILE: Readonly<Record<string, (client: KubeClient) => Promise<unknown>>> = {
  "data of a ConfigMap of others": patched(STRANGER, { data: { key: "changed" } }),
  "a ConfigMap of others that is made a TrainJob's": patched(STRANGER, {
    metadata: { ownerReferences: ownedBy("TrainJob", STRANGER) },
  }),
  "a ConfigMap of others, with the name of a TrainJob's": patched(TAKEN, {
    metadata: { ownerReferences: ownedBy("TrainJob", "mine") },
    data: { "ca.crt": "PEM" },
  }),
  "a new ConfigMap without a TrainJob": created(childNames.tlsConfig("other")),
  "a new ConfigMap with another name": created("kube-root-ca", {
    ownerReferences: ownedBy("TrainJob", "kube"),
  }),
  "a new ConfigMap of another TrainJob's name": created(childNames.tlsConfig("other"), {
    ownerReferences: ownedBy("TrainJob", "mine"),
  }),
  "a new ConfigMap of another kind": created(childNames.tlsConfig("other"), {
    ownerReferences: ownedBy("Deployment", "other"),
  }),
  "a new Secret without a TrainJob": secret(policyChildNames.secrets.mpiSshAuth("other")),
  "a new Secret with another name": secret("other", {
    ownerReferences: ownedBy("TrainJob", "other"),
  }),
  "a new Secret of another TrainJob's name": secret(policyChildNames.secrets.mpiSshAuth("other"), {
    ownerReferences: ownedBy("TrainJob", "mine"),
  }),
  "its certificate in another namespace": secret(MANAGER.certificateSecret),
  "a Secret that would be filled with a token": secret(
    policyChildNames.secrets.mpiSshAuth("mine"),
    {
      ownerReferences: ownedBy("TrainJob", "mine"),
      annotations: { "kubernetes.io/service-account.name": "default" },
    },
    "kubernetes.io/service-account-token",
  ),
  "another mutating webhook configuration": (client) =>
    client.create(KINDS.mutatingWebhookConfiguration, { metadata: { name: "other" } }),
  "a mutating webhook configuration with a generated name": (client) =>
    client.create(KINDS.mutatingWebhookConfiguration, {
      metadata: { generateName: MANAGER.mutatingConfiguration },
    }),
  "a mutating webhook configuration with the name of the validating one": (client) =>
    client.create(KINDS.mutatingWebhookConfiguration, {
      metadata: { name: MANAGER.validatingConfiguration },
    }),
  "another validating webhook configuration": (client) =>
    client.create(KINDS.validatingWebhookConfiguration, { metadata: { name: "other" } }),
  "records of trials without an OptimizationJob": created(trialRecordsName("other")),
  "records of trials of a TrainJob": created(trialRecordsName("other"), {
    ownerReferences: ownedBy("TrainJob", "other"),
  }),
  "records of another OptimizationJob's trials": created(trialRecordsName("other"), {
    ownerReferences: ownedBy("OptimizationJob", "mine"),
  }),
  "a TrainJob of nobody": madeTrial(),
  "a TrainJob of another kind": madeTrial(ownedBy("Deployment", "mine")),
  "a TrainJob that an OptimizationJob does not control": madeTrial(
    ownedBy("OptimizationJob", "mine").map((it) => ({ ...it, controller: false })),
  ),
  "a Job of nobody": (client) => client.delete(KINDS.job, inDefault(STRANGER)),
  "a TrainJob that has not ended": (client) => client.delete(KINDS.trainJob, inDefault("runs")),
  "its own configuration, called for Secrets": async (client) => {
    const name = MANAGER.mutatingConfiguration;
    const stored = await client.get(KINDS.mutatingWebhookConfiguration, { name });
    const webhooks = [...stored.webhooks ?? [], ...spying];
    await client.replace(KINDS.mutatingWebhookConfiguration, { ...stored, webhooks });
  },
};

/** The same requests by an administrator, whom the policy does not concern. */
async function othersMayWrite({ plane: { client } }: Cluster): Promise<void> {
  await patched(STRANGER, { data: { key: "changed" } })(client);
  const other = { metadata: { name: "other" } };
  await client.create(KINDS.mutatingWebhookConfiguration, other);
  await client.create(KINDS.validatingWebhookConfiguration, other);
}

/** A TrainJob gets its ConfigMaps, and its CA is corrected; one of MPI gets its keys; one that has ended goes. */
async function managerMayWrite({ plane: { client } }: Cluster): Promise<void> {
  const shell = shellRuntime("mpi", "true");
  const mpi = {
    ...shell,
    spec: { ...shell.spec, mlPolicy: { mpi: { mpiImplementation: "MPICH" } } },
  };
  await client.create(
    KINDS.clusterTrainingRuntime,
    KINDS.clusterTrainingRuntime.parse(JSON.parse(JSON.stringify(mpi))),
  );
  await client.create(KINDS.trainJob, trainJob("keyed", "mpi"));
  const keys = inDefault(policyChildNames.secrets.mpiSshAuth("keyed"));
  const { type, immutable } = await until("the keys", () => client.get(KINDS.secret, keys));
  assert.deepEqual([type, immutable], ["kubernetes.io/ssh-auth", true]);
  await client.create(KINDS.trainJob, trainJob("honest", "shell"));
  await until(
    "the snapshot",
    () => client.get(KINDS.configMap, inDefault(childNames.runtimeSnapshot("honest"))),
  );
  const key = inDefault(childNames.tlsConfig("honest"));
  const { data } = await until("the CA", () => client.get(KINDS.configMap, key));
  await client.patch(KINDS.configMap, key, { type: "merge", body: { data: { "ca.crt": "x" } } });
  await until(
    "the CA to be as it was",
    async () => (await client.get(KINDS.configMap, key)).data?.["ca.crt"] === data?.["ca.crt"],
  );
  const brief = {
    annotations: { [ANNOTATIONS.timeToLive]: "0" },
    spec: { activeDeadlineSeconds: 1 },
  };
  await client.create(KINDS.trainJob, trainJob("brief", "shell", brief));
  await until(
    "a job to be gone that has ended",
    () => client.get(KINDS.trainJob, inDefault("brief")).then(() => false, isNotFound),
  );
}

/** The records of a search's trials, and a trial. */
async function managerMaySearch({ installation: { client } }: Cluster): Promise<void> {
  const ownerReferences = ownedBy("OptimizationJob", "search");
  await created(trialRecordsName("search"), { ownerReferences })(client);
  await patched(trialRecordsName("search"), { data: { key: "changed" } })(client);
  await madeTrial(ownerReferences)(client);
}

/** A user who may create OptimizationJobs, and later TrainJobs, too. */
async function searchersMayTrain({ plane }: Cluster): Promise<void> {
  const may = async (what: string) => {
    await kubectl(plane, ["create", "role", what, "--verb=create", `--resource=${what}.${GROUP}`]);
    await kubectl(plane, ["create", "rolebinding", what, `--role=${what}`, "--user=ann"]);
  };
  const { status: _, ...search } = optimizationJob({
    metadata: { namespace: NAMESPACE, uid: undefined },
    template: { spec: { runtimeRef: { name: "shell" } } },
  });
  const attempt = () =>
    tryKubectl(
      plane,
      ["create", "--validate=false", "-f", "-", "--as=ann"],
      JSON.stringify(search),
    );
  await may(KINDS.optimizationJob.plural);
  const { stderr } = await attempt();
  assert.match(stderr, /trials are TrainJobs, and their author has no right to create.*: ann/);
  await may(KINDS.trainJob.plural);
  await until("the search is created", async () => (await attempt()).code === 0);
}

async function isRefused(attempt: Promise<unknown>): Promise<boolean> {
  try {
    await attempt;
    return false;
  } catch (error) {
    assert.ok(error instanceof KubeError, String(error));
    assert.equal(error.code, 403, error.message);
    assert.match(error.message, new RegExp(MANAGER.writesPolicy));
    return true;
  }
}

Deno.test("the manager's account can write no ConfigMap, no Secret, no TrainJob and no webhook configuration but its own", (t) =>
  withSharedCluster(async (cluster) => {
    const { plane, installation } = cluster;
    for (const name of [STRANGER, TAKEN]) {
      await plane.client.create(KINDS.configMap, configMap(name));
    }
    await plane.client.create(KINDS.clusterTrainingRuntime, shellRuntime("shell", "true"));
    await plane.client.create(KINDS.trainJob, trainJob("runs", "shell"));
    await plane.client.create(KINDS.job, {
      metadata: inDefault(STRANGER),
      spec: {
        suspend: true,
        template: {
          spec: { restartPolicy: "Never", containers: [{ name: "a", image: "a" }] },
        },
      },
    });
    await t.step("every CEL expression compiles", async () => {
      const path =
        "jsonpath={.status.observedGeneration}:{.status.typeChecking.expressionWarnings}";
      const get = ["get", "validatingadmissionpolicy", MANAGER.writesPolicy, "-o", path];
      const checked = await until("the expressions are checked", async () => {
        const { stdout } = await tryKubectl(plane, get);
        return stdout.startsWith("1:") && stdout;
      });
      assert.equal(checked, "1:");
    });
    await until(
      "the policy is enforced",
      () => isRefused(patched(STRANGER, { data: { probe: "x" } })(installation.client)),
      {
        timeoutMs: 60_000,
      },
    );
    for (const [what, attempt] of Object.entries(HOSTILE)) {
      await t.step(`it may not write ${what}`, async () => {
        assert.ok(await isRefused(attempt(installation.client)), "it was allowed");
      });
    }
    await t.step("the manager may write what it needs", () => managerMayWrite(cluster));
    await t.step("the manager may write what a search needs", () => managerMaySearch(cluster));
    await t.step("who makes a search may make TrainJobs", () => searchersMayTrain(cluster));
    await t.step("others may write what they could", () => othersMayWrite(cluster));
  }, {
    node: false,
    beforeManager: ({ plane }) => apply(plane, parts(DEFAULTS).admission_policy),
  }));
