/** Scenes in which a manager uses the rights of the roles of policies, by the names of those roles. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { POLICY_SECRETS, policyChildNames } from "../../../crds/names.ts";
import type { Kind, KubeObject } from "../../../platform/kube/resource.ts";
import { shellRuntime, trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import type { Cluster } from "./installation.ts";

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
