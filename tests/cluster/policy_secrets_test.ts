/** Test of the right to Secrets: without it TrainJobs that need keys wait, and a RoleBinding grants it in one namespace. */
import assert from "node:assert/strict";
import { MANAGER_PARTS } from "../../app/manager/rights.ts";
import { KINDS } from "../../crds/kinds.ts";
import { EVENT_REASONS, MANAGER, POLICY_SECRETS, policyChildNames } from "../../crds/names.ts";
import { DEFAULTS } from "../../deploy/installation_settings.ts";
import { parts } from "../../deploy/parts.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { apply, type Cluster } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();

const ROLE = `${MANAGER.name}-${POLICY_SECRETS.role}`;
const ADVICE = `bind the ClusterRole ${ROLE} to the manager's service account ` +
  `(Helm: ${POLICY_SECRETS.helmValue}=true)`;
const { mpiSshAuth, fluxCurve } = policyChildNames.secrets;

/** A TrainJob that needs a Secret. */
interface Keyed {
  readonly name: string;
  readonly namespace: string;
  readonly runtime: string;
  readonly secret: string;
}

const keyed = (
  name: string,
  runtime: string,
  nameOf: typeof mpiSshAuth,
  namespace = "default",
) => ({
  name,
  namespace,
  runtime,
  secret: nameOf(name),
});
const MPI = keyed("rings", "deepspeed-distributed", mpiSshAuth);
const FLUX = keyed("flows", "flux-distributed", fluxCurve);
const ELSEWHERE = keyed("rings", "deepspeed-distributed", mpiSshAuth, "elsewhere");

/** What belongs to the TrainJobs of a namespace. */
async function children(client: KubeClient, namespace: string): Promise<string[]> {
  const kinds = [KINDS.configMap, KINDS.secret, KINDS.jobSet, KINDS.job];
  const lists = await Promise.all(
    kinds.map(async (kind) =>
      (await client.list<{ metadata?: { name?: string } }>(kind, { namespace })).items
    ),
  );
  return lists.flat().map(({ metadata }) => metadata?.name ?? "")
    .filter((name) => name !== "kube-root-ca.crt").toSorted();
}

/** It waits, and condition and event say for what. */
async function waits({ plane: { client } }: Cluster, job: Keyed): Promise<void> {
  const { name, namespace, secret } = job;
  const message = `reading Secret "${secret}" is forbidden: ${ADVICE}`;
  const { status } = await trainJobThat(
    client,
    name,
    "waits",
    ({ status }) => (status?.conditions?.length ?? 0) > 0,
    namespace,
  );
  const conditions = status?.conditions?.map((it) => [it.type, it.status, it.message]);
  assert.deepEqual(conditions, [["ResourcesCreated", "False", message]]);
  await until("the event", async () => {
    const { items } = await client.list(KINDS.event, { namespace });
    return items.some((event) =>
      event.involvedObject.name === name &&
      event.reason === EVENT_REASONS.resourcesCreationFailed && event.message?.endsWith(message)
    );
  });
}

async function bindInDefault({ plane, kubectl }: Cluster): Promise<void> {
  const { access } = parts(DEFAULTS);
  await apply(
    plane,
    access.filter(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === ROLE),
  );
  const account = `--serviceaccount=${MANAGER.namespace}:${MANAGER.name}`;
  const binding = ["create", "rolebinding", "keys", `--clusterrole=${ROLE}`, account];
  await kubectl(["-n", "default", ...binding]);
}

/** It has its Secret and its JobSet, and no condition any more. */
async function starts({ plane: { client } }: Cluster, job: Keyed): Promise<void> {
  const { name, namespace, secret } = job;
  await until(`the JobSet of ${name}`, () => client.get(KINDS.jobSet, { namespace, name }));
  await client.get(KINDS.secret, { namespace, name: secret });
  await trainJobThat(
    client,
    name,
    "waits no more",
    ({ status }) => (status?.conditions ?? []).length === 0,
    namespace,
  );
}

Deno.test("without the right to Secrets jobs that need keys wait, nothing of them is made, and a RoleBinding starts them in its namespace", async () => {
  await withSharedCluster(async (cluster) => {
    const { plane: { client }, kubectl } = cluster;
    const folder = new URL("../../deploy/runtimes", import.meta.url).pathname;
    await kubectl(["apply", "--validate=false", "-k", folder]);
    await client.create(KINDS.namespace, { metadata: { name: ELSEWHERE.namespace } });
    const jobs = [MPI, FLUX, ELSEWHERE];
    for (const { name, namespace, runtime } of jobs) {
      const spec = { trainer: { command: ["true"] } };
      await client.create(KINDS.trainJob, trainJob(name, runtime, { namespace, spec }));
    }
    for (const job of jobs) await waits(cluster, job);
    assert.deepEqual(await children(client, "default"), []);
    assert.deepEqual(await children(client, ELSEWHERE.namespace), []);
    await bindInDefault(cluster);
    // No binding is watched: the manager looks again within a minute, and at once after a change.
    await kubectl(["annotate", "trainjobs", "--all", "--all-namespaces", "example.com/look=again"]);
    await starts(cluster, MPI);
    await starts(cluster, FLUX);
    await waits(cluster, ELSEWHERE);
    assert.deepEqual(await children(client, ELSEWHERE.namespace), []);
  }, {
    node: false,
    parts: MANAGER_PARTS.filter((part) => part !== POLICY_SECRETS.role),
  });
});
