/** Users, their tokens and the objects of the tests of the admission policy. */
import { z } from "zod";
import type { JobSet } from "../../../crds/jobset.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Job, Pod } from "../../../platform/kube/kubernetes.ts";
import { LABELS, MANAGER, TRAINER_API_VERSION } from "../../../crds/names.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { parts } from "../../../deploy/parts.ts";
import { DEFAULTS } from "../../../deploy/installation_settings.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import { controllerReference } from "../../../platform/kube/owner_references.ts";
import type { KubeMeta, OwnerRef } from "../../../platform/kube/resource.ts";
import { until } from "../../support/until.ts";
import type { ControlPlane } from "../control_plane/control_plane.ts";
import { apply, crdsServed, serviceAccountToken } from "./installation.ts";

/** The namespace of the tests. */
export const NAMESPACE = "default";

/** Users, and the chain of a TrainJob that is not Mallory's. */
export interface World {
  readonly plane: ControlPlane;
  /** May do everything with pods, Jobs and JobSets in the namespace, as a user with `edit` may. */
  readonly mallory: KubeClient;
  readonly manager: KubeClient;
  /** Upstream's JobSet controller. */
  readonly executor: KubeClient;
  /** The account that all controllers of Kubernetes share where none has one of its own. */
  readonly jobController: KubeClient;
  /** The victim's chain: TrainJob → JobSet → Job → pod, the last by the real Job controller. */
  readonly trainJob: TrainJob;
  readonly jobSet: JobSet;
  readonly job: Job;
  readonly pod: Pod;
  /** A fresh pod of Mallory's own, with nothing to object to. */
  ownPod(metadata?: KubeMeta): Promise<Pod>;
}

let names = 0;
/** A name that nothing else has in this run. */
export const freshName = (base: string) => `${base}-${names++}`;

const podSpec = { containers: [{ name: "main", image: "nothing", command: ["true"] }] };

/** A pod that is not created yet. */
export function podOf(metadata: KubeMeta = {}): Pod {
  return { metadata: { namespace: NAMESPACE, name: freshName("pod"), ...metadata }, spec: podSpec };
}

/** A suspended Job that is not created yet; `labels` go to its pods. */
export function jobOf(metadata: KubeMeta = {}, labels: Record<string, string> = {}): Job {
  return {
    metadata: { namespace: NAMESPACE, name: freshName("job"), ...metadata },
    spec: {
      suspend: true,
      template: { metadata: { labels }, spec: { ...podSpec, restartPolicy: "Never" } },
    },
  };
}

/** A JobSet that is not created yet; `labels` go to its pods. */
export function jobSetOf(metadata: KubeMeta = {}, labels: Record<string, string> = {}): JobSet {
  const template = {
    spec: { template: { metadata: { labels }, spec: { ...podSpec, restartPolicy: "Never" } } },
  };
  return KINDS.jobSet.parse({
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { namespace: NAMESPACE, name: freshName("jobset"), ...metadata },
    spec: { suspend: true, replicatedJobs: [{ name: "node", template }] },
  });
}

/** A reference by which an object is controlled. */
export function controlledBy(
  kind: { group: string; version: string; kind: string },
  owner: { metadata?: { name?: string; uid?: string } },
): OwnerRef {
  const { name = "", uid = "" } = owner.metadata ?? {};
  const apiVersion = `${kind.group}/${kind.version}`;
  return controllerReference({ apiVersion, kind: kind.kind, name, uid });
}

const account = (namespace: string, name: string) => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { namespace, name },
});

function binding(name: string, role: string, subject: { namespace: string; name: string }) {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", ...subject }],
  };
}

/** Everything that can be done with what the policy looks at, so that nothing but it says no. */
const MALLORYS_ROLE = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "mallory" },
  rules: ["", "apps", "batch", "jobset.x-k8s.io"].map((group) => ({
    apiGroups: [group],
    resources: ["*"],
    verbs: ["*"],
  })),
};
const EXECUTOR = { namespace: "jobset-system", name: "jobset-controller-manager" };
const MALLORY = { namespace: NAMESPACE, name: "mallory" };
const THE_MANAGER = { namespace: MANAGER.namespace, name: MANAGER.name };

async function install(plane: ControlPlane): Promise<void> {
  const all = parts(DEFAULTS);
  const before = [
    all.namespace,
    all.trainer_crds,
    all.jobset_crd,
    all.access,
    all.executor_role,
    all.progress_role,
  ].flat();
  await apply(plane, [
    ...before,
    { apiVersion: "v1", kind: "Namespace", metadata: { name: EXECUTOR.namespace } },
    ...[EXECUTOR, MALLORY, THE_MANAGER].map((it) => account(it.namespace, it.name)),
    MALLORYS_ROLE,
    binding("mallory", "mallory", MALLORY),
    binding("jobset", "mallory", EXECUTOR),
    ...all.admission_policy,
  ]);
  await crdsServed(plane, []);
}

/** The policy is enforced some moments after it is stored. */
async function isEnforced(mallory: KubeClient): Promise<void> {
  await until("the policy is enforced", async () => {
    const forged = podOf({ labels: { [LABELS.trainJobName]: "probe" } });
    try {
      const { metadata } = await mallory.create(KINDS.pod, forged);
      await mallory.delete(KINDS.pod, { namespace: NAMESPACE, name: metadata?.name ?? "" });
      return false;
    } catch (error) {
      return String(error).includes(MANAGER.admissionPolicy);
    }
  }, { timeoutMs: 60_000, everyMs: 200 });
}

const createdSchema = z.looseObject({ metadata: z.looseObject({ uid: z.string() }) });

/** The chain of an honest TrainJob, each link by whom it is made in life. */
async function chain(plane: ControlPlane, manager: KubeClient, executor: KubeClient) {
  const trainJob = await plane.client.create(
    KINDS.trainJob,
    KINDS.trainJob.parse({
      apiVersion: TRAINER_API_VERSION,
      kind: "TrainJob",
      metadata: { namespace: NAMESPACE, name: "victim" },
      spec: { runtimeRef: { name: "none" } },
    }),
  );
  createdSchema.parse(trainJob);
  const labels = { [LABELS.trainJobName]: "victim" };
  const jobSet = await manager.create(
    KINDS.jobSet,
    jobSetOf(
      { name: "victim", ownerReferences: [controlledBy(KINDS.trainJob, trainJob)] },
      labels,
    ),
  );
  const wanted = jobOf(
    { name: "victim-node-0", ownerReferences: [controlledBy(KINDS.jobSet, jobSet)] },
    { ...labels, "jobset.sigs.k8s.io/jobset-name": "victim" },
  );
  const spec = { ...wanted.spec, suspend: false, template: wanted.spec?.template ?? {} };
  const job = await executor.create(KINDS.job, { ...wanted, spec });
  const pod = await until("the Job controller makes the pod", async () => {
    const { items } = await plane.client.list(KINDS.pod, {
      namespace: NAMESPACE,
      labelSelector: "job-name=victim-node-0",
    });
    return items[0];
  });
  return { trainJob, jobSet, job, pod };
}

/** Installs policy, users and the victim's chain on a control plane. */
export async function createWorld(plane: ControlPlane): Promise<World> {
  await install(plane);
  const as = async (who: { namespace: string; name: string }) => {
    const token = await serviceAccountToken(plane.client, who);
    return createClient({
      connection: loadKubeconfig(await plane.kubeconfigFor(who.name, { token })),
    });
  };
  const [mallory, manager, executor] = await Promise.all([MALLORY, THE_MANAGER, EXECUTOR].map(as));
  if (!mallory || !manager || !executor) throw new Error("there are three users");
  const shared = { user: "system:kube-controller-manager", groups: ["system:masters"] };
  const jobController = createClient({
    connection: loadKubeconfig(await plane.kubeconfigFor("shared-controllers", shared)),
  });
  await isEnforced(mallory);
  return {
    plane,
    mallory,
    manager,
    executor,
    jobController,
    ...await chain(plane, manager, executor),
    ownPod: (metadata) => mallory.create(KINDS.pod, podOf(metadata)),
  };
}
