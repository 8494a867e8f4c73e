/** Scenes in which a manager uses the rights of the roles of policies and of restarts, by the names of those roles. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { POLICY_SECRETS, policyChildNames, RESTARTS } from "../../../crds/names.ts";
import { JOBSET_API_VERSION, JOBSET_CONDITIONS, JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import { isNotFound } from "../../../platform/kube/errors.ts";
import { controllerReference } from "../../../platform/kube/owner_references.ts";
import type { Kind, KubeObject } from "../../../platform/kube/resource.ts";
import { shellRuntime, trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import type { Cluster } from "./installation.ts";
import { UPSTREAM_ACCOUNT } from "./upstream_jobset.ts";

const PRIORITY = "scene";

/** A TrainJob that stays suspended, on a runtime of its own with these policies. */
async function begin(
  { plane: { client } }: Cluster,
  name: string,
  policies: Readonly<Record<string, object>>,
  pod: object = {},
): Promise<void> {
  const runtime = shellRuntime(name, "true");
  const template = runtime.spec?.template.spec?.replicatedJobs?.[0]?.template.spec?.template;
  if (template?.spec) Object.assign(template.spec, pod);
  await client.create(KINDS.clusterTrainingRuntime, {
    ...runtime,
    spec: { template: runtime.spec?.template ?? {}, ...policies },
  });
  await client.create(KINDS.trainJob, trainJob(name, name, { spec: { suspend: true } }));
}

/** A ConfigMap of the job is made; somebody changes it, and it is corrected. */
async function isCorrected({ plane: { client } }: Cluster, name: string): Promise<void> {
  const key = { namespace: "default", name };
  const { data = {} } = await until(`ConfigMap ${name}`, () => client.get(KINDS.configMap, key));
  const [file = ""] = Object.keys(data);
  assert.notEqual(file, "");
  await client.patch(KINDS.configMap, key, { type: "merge", body: { data: { [file]: "x" } } });
  await until(
    `ConfigMap ${name} as it was`,
    async () => (await client.get(KINDS.configMap, key)).data?.[file] === data[file],
  );
}

const minMember = (group: KubeObject) =>
  "spec" in group && typeof group.spec === "object" && group.spec !== null &&
    "minMember" in group.spec
    ? group.spec.minMember
    : undefined;

/** The pod group of the job is made; somebody changes it, and it follows the job again. */
async function groupFollows(
  { plane: { client } }: Cluster,
  kind: Kind<KubeObject>,
  name: string,
): Promise<void> {
  const key = { namespace: "default", name };
  const isRight = async () => minMember(await client.get(kind, key)) === 1;
  await until(`the group of ${name}`, isRight);
  await client.patch(kind, key, { type: "merge", body: { spec: { minMember: 7 } } });
  await until(`the group of ${name} as it was`, isRight);
}

/** Each scene leaves its TrainJob. */
export const POLICY_SCENES: Readonly<Record<string, (cluster: Cluster) => Promise<void>>> = {
  async [POLICY_SECRETS.role](cluster) {
    await begin(cluster, "keyed", { mlPolicy: { mpi: {} } });
    const key = { namespace: "default", name: policyChildNames.secrets.mpiSshAuth("keyed") };
    await until("its keys", () => cluster.plane.client.get(KINDS.secret, key));
  },
  /** The test is the executor of a JobSet of which an index has succeeded. */
  async [RESTARTS.role](cluster) {
    const { client } = cluster.plane;
    const key = { namespace: "default", name: "anew" };
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("anew", "true"));
    await client.create(KINDS.trainJob, trainJob("anew", "anew"));
    const jobSet = await until("its JobSet", () => client.get(KINDS.jobSet, key));
    const { name, uid = "" } = { name: "anew", ...jobSet.metadata };
    const job = { namespace: "default", name: `${name}-node-0` };
    const labels = { [JOBSET_KEYS.jobSetName]: name, [JOBSET_KEYS.replicatedJobName]: "node" };
    const owner = { apiVersion: JOBSET_API_VERSION, kind: "JobSet", name, uid };
    // Nobody but its executor may give it a Job.
    const { namespace, name: account } = UPSTREAM_ACCOUNT;
    const user = `system:serviceaccount:${namespace}:${account}`;
    const identity = { user, groups: ["system:masters"] };
    const kubeconfig = await cluster.plane.kubeconfigFor("executor", identity);
    const executor = createClient({ connection: loadKubeconfig(kubeconfig) });
    await executor.create(KINDS.job, {
      metadata: { ...job, labels, ownerReferences: [controllerReference(owner)] },
      spec: {
        suspend: true,
        completions: 2,
        completionMode: "Indexed",
        template: {
          spec: { restartPolicy: "Never", containers: [{ name: "node", image: "none" }] },
        },
      },
    });
    const status = (body: unknown) =>
      [{ type: "merge", body: { status: body } }, {
        subresource: "status",
      }] as const;
    await client.patch(KINDS.job, job, ...status({ succeeded: 1, completedIndexes: "0" }));
    const lastTransitionTime = new Date().toISOString();
    const suspended = { status: "True", reason: "r", message: "m", lastTransitionTime };
    const restart = { count: 1, reason: "Asked", message: "m", time: lastTransitionTime };
    await client.patch(KINDS.trainJob, key, ...status({ restart }));
    await until(
      "its JobSet is suspended",
      async () => (await client.get(KINDS.jobSet, key)).spec?.suspend === true,
    );
    const conditions = [{ type: JOBSET_CONDITIONS.suspended, ...suspended }];
    await client.patch(KINDS.jobSet, key, ...status({ conditions }));
    await until("its Job is gone", () => client.get(KINDS.job, job).then(() => false, isNotFound));
  },
  async mpi(cluster) {
    await begin(cluster, "rings", { mlPolicy: { mpi: {} } });
    await isCorrected(cluster, policyChildNames.configMaps.mpiHostfile("rings"));
  },
  async flux(cluster) {
    await begin(cluster, "flows", { mlPolicy: { flux: {} } });
    await isCorrected(cluster, policyChildNames.configMaps.fluxEntrypoint("flows"));
  },
  async "gang-coscheduling"(cluster) {
    await begin(cluster, "squad", { mlPolicy: {}, podGroupPolicy: { coscheduling: {} } });
    await groupFollows(cluster, KINDS.coschedulingPodGroup, "squad");
  },
  async "gang-volcano"(cluster) {
    await cluster.kubectl(["create", "priorityclass", PRIORITY, "--value=10"]);
    const policies = { mlPolicy: {}, podGroupPolicy: { volcano: {} } };
    await begin(cluster, "troupe", policies, { priorityClassName: PRIORITY });
    await groupFollows(cluster, KINDS.volcanoPodGroup, "troupe");
  },
};
