/** Test of least privilege of the v1 kinds: jobs of each kind under the roles of their part, with the audit log on. */
import assert from "node:assert/strict";
import { clusterRulesOf } from "../../app/manager/rights.ts";
import { KINDS } from "../../crds/kinds.ts";
import { V1_KIND_LIST, v1CrdName, type V1Kind, type V1KindName } from "../../crds/v1/kinds.ts";
import { LABELS } from "../../crds/names.ts";
import { v1CrdManifests } from "../../crds/v1/manifests.ts";
import { V1_JOBS_PART, V1_LABELS } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { until } from "../support/until.ts";
import { MANAGER_USER } from "./support/conserved.ts";
import { apply, type Cluster, crdsServed, withCluster } from "./support/installation.ts";
import { allows, privilegesOf, textOf, useOf } from "./support/privileges.ts";

/** The launcher of an MPIJob needs an account and files, whose rights are another part's. */
const KINDS_RUN = V1_KIND_LIST.filter(({ kind }) => kind !== "MPIJob");

/** Privileges that no request of this test shows. */
const isNeverSeen = (privilege: string) =>
  privilege.includes("mpijobs") ||
  // Progress, which is off in this test (tests/app/v1/v1_annotation_test.ts).
  /^patch \w+\.kubeflow\.org/.test(privilege) ||
  // Asked for by the plugin OwnerReferencesPermissionEnforcement, which is on in this test.
  /^update \w+\/finalizers\./.test(privilege);

/** The type that decides how the least job of a kind ends. */
const TYPES: Partial<Record<V1KindName, string>> = { XGBoostJob: "Master", MXJob: "Scheduler" };
const typeOf = ({ kind }: V1Kind) => TYPES[kind] ?? "Worker";

/** A job that goes with all that it has when its pods have succeeded. */
function shortJob(of: V1Kind) {
  const { kind, specsKey, container } = of;
  const replicas = kind === "TFJob" ? 2 : 1;
  const template = { spec: { containers: [{ name: container, image: "none" }] } };
  return {
    apiVersion: "kubeflow.org/v1",
    kind,
    metadata: { name: kind.toLowerCase(), namespace: "default" },
    spec: {
      [specsKey]: { [typeOf(of)]: { replicas, template } },
      ...kind === "MXJob" ? { jobMode: "MXTrain" } : {},
      runPolicy: { cleanPodPolicy: "All", ttlSecondsAfterFinished: 0 },
    },
  };
}

const jobNameOf = (kind: V1Kind) => kind.kind.toLowerCase();

async function podsOf({ plane }: Cluster, kind: V1Kind) {
  const labelSelector = `${V1_LABELS.jobName}=${jobNameOf(kind)}`;
  return (await plane.client.list(KINDS.pod, { namespace: "default", labelSelector })).items;
}

/** An object of that replica, with or without the labels by which the job finds it. */
function replicaMeta(kind: V1Kind, index: number, isFound: boolean) {
  const type = typeOf(kind).toLowerCase();
  const labels = {
    [LABELS.jobKind]: kind.plural,
    [V1_LABELS.jobName]: jobNameOf(kind),
    [V1_LABELS.operatorName]: kind.operatorName,
    [V1_LABELS.replicaType]: type,
    [V1_LABELS.replicaIndex]: String(index),
  };
  const name = `${jobNameOf(kind)}-${type}-${index}`;
  return { name, namespace: "default", ...isFound ? { labels } : {} };
}

/** Creates a pod and a Service that nobody controls: with labels they are adopted, else they stand in the way. */
async function createOrphans(
  { plane: { client } }: Cluster,
  kind: V1Kind,
  index: number,
  isFound: boolean,
) {
  const metadata = replicaMeta(kind, index, isFound);
  const containers = [{ name: kind.container, image: "none" }];
  await client.create(KINDS.pod, { metadata, spec: { containers } });
  const ports = [{ name: "a", port: 1 }];
  await client.create(KINDS.service, { metadata, spec: { clusterIP: "None", ports } });
}

/** Plays the kubelet: every pod of the job succeeds. */
async function succeed(cluster: Cluster, kind: V1Kind): Promise<void> {
  const terminated = { exitCode: 0, reason: "Completed" };
  for (const { metadata: { name = "" } = {} } of await podsOf(cluster, kind)) {
    const status = {
      phase: "Succeeded",
      containerStatuses: [{
        name: kind.container,
        image: "none",
        imageID: "",
        ready: false,
        restartCount: 0,
        state: { terminated },
      }],
    };
    const key = { namespace: "default", name };
    const patch = { type: "merge", body: { status } } as const;
    await cluster.plane.client.patch(KINDS.pod, key, patch, { subresource: "status" });
  }
}

async function live(cluster: Cluster, kind: V1Kind): Promise<void> {
  const { client } = cluster.plane;
  await createOrphans(cluster, kind, 0, true);
  if (kind.kind === "TFJob") await createOrphans(cluster, kind, 1, false);
  await client.create(V1_RESOURCES[kind.kind], shortJob(kind));
  const isOwned = async () =>
    (await podsOf(cluster, kind)).some(({ metadata }) => metadata?.ownerReferences !== undefined);
  await until(`the pod of the ${kind.kind} to be adopted`, isOwned, { timeoutMs: 30_000 });
  await succeed(cluster, kind);
  await until(`the end of the ${kind.kind}`, async () => {
    const { items } = await client.list(V1_RESOURCES[kind.kind], { namespace: "default" });
    return items.length === 0;
  }, { timeoutMs: 30_000 });
}

Deno.test("the manager needs exactly the rights of the part that runs the v1 kinds", async (t) => {
  await withCluster(async (cluster) => {
    const { plane, manager } = cluster;
    for (const kind of KINDS_RUN) {
      await t.step({
        name: kind.kind,
        sanitizeOps: false,
        sanitizeResources: false,
        fn: () => live(cluster, kind),
      });
    }
    await manager.kill();
    const events = (await plane.auditLog()).filter(({ user }) => user.username === MANAGER_USER);
    await t.step("nothing is forbidden", () => {
      const refused = events.filter(({ responseStatus }) => responseStatus?.code === 403);
      assert.deepEqual(refused.map((event) => `${event.verb} ${event.requestURI}`), []);
    });
    await t.step("every privilege is used", () => {
      const uses = events.map(useOf);
      const unused = clusterRulesOf(V1_JOBS_PART).flatMap(privilegesOf)
        .filter((it) => !uses.some((use) => allows(it, use))).map(textOf);
      assert.deepEqual(unused.filter((it) => !isNeverSeen(it)), []);
    });
  }, {
    node: false,
    flags: {
      featureGates: "TrainJobProgress=false",
      jobset: "external",
      leaderElect: "false",
      optimizationJobs: "false",
    },
    parts: ["controller", V1_JOBS_PART],
    plane: {
      scheduler: false,
      audit: [{ level: "Metadata", users: [MANAGER_USER] }, { level: "None" }],
      admissionPlugins: ["OwnerReferencesPermissionEnforcement"],
    },
    async beforeManager({ plane }) {
      await apply(plane, v1CrdManifests());
      await crdsServed(plane, V1_KIND_LIST.map((kind) => `crd/${v1CrdName(kind)}`));
    },
  });
});
