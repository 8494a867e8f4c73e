/**
 * The attacker Mallory, who has all rights to pods, Jobs and JobSets of a namespace and tries to report
 * for TrainJobs of others, in a whole Milepost on a real control plane.
 */
import { z } from "zod";
import { KINDS } from "../../../crds/kinds.ts";
import type { Job, Pod, PodSpec } from "../../../platform/kube/kubernetes.ts";
import { type JobKind, statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { CA_KEY, childNames, MANAGER, PUSH_AUDIENCE } from "../../../crds/names.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { JobSet } from "../../../crds/jobset.ts";
import { parts } from "../../../deploy/parts.ts";
import { DEFAULTS } from "../../../deploy/installation_settings.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import { controllerOf } from "../../../platform/kube/owner_references.ts";
import { requestToken, shellRuntime, trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import type { ControlPlane } from "../control_plane/control_plane.ts";
import { apply, type Cluster, serviceAccountToken } from "./installation.ts";
import { freshName } from "./admission_world.ts";
import { podLog } from "../../support/pod_log.ts";

/** The namespace of the tests. */
export const NAMESPACE = "default";

/** A TrainJob of somebody else, with what belongs to it. */
export interface Victim {
  readonly trainJob: TrainJob;
  readonly jobSet: JobSet;
  readonly job: Job;
  readonly pod: Pod;
}

/** Context of an attempt. */
export interface Attack {
  readonly mallory: KubeClient;
  /** As the administrator: for what somebody else does meanwhile. */
  readonly client: KubeClient;
  /** A fresh TrainJob that runs. */
  victim(): Promise<Victim>;
  /** Pushes with a token, and returns the code. Default: for a TrainJob. */
  push(job: string, token: string, kind?: JobKind): Promise<number>;
}

const ACCOUNT = { namespace: NAMESPACE, name: "mallory" };

/** As a user with `edit` has it, and to ask for tokens besides. */
const ROLE = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { name: "mallory", namespace: NAMESPACE },
  rules: [
    { apiGroups: [""], resources: ["pods", "pods/log", "pods/status"], verbs: ["*"] },
    { apiGroups: ["apps"], resources: ["*"], verbs: ["*"] },
    { apiGroups: ["batch"], resources: ["jobs", "jobs/status"], verbs: ["*"] },
    { apiGroups: ["jobset.x-k8s.io"], resources: ["jobsets", "jobsets/status"], verbs: ["*"] },
    {
      apiGroups: ["trainer.kubeflow.org"],
      resources: ["trainjobs"],
      verbs: ["get", "list", "watch"],
    },
    { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] },
  ],
};

const BINDING = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { name: "mallory", namespace: NAMESPACE },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "mallory" },
  subjects: [{ kind: "ServiceAccount", ...ACCOUNT }],
};

const TOKEN_FOLDER = "/var/run/secrets/mallory";

/** A pod that prints its token and keeps running, also after SIGTERM. */
export const TELLING: PodSpec = {
  restartPolicy: "Never",
  terminationGracePeriodSeconds: 120,
  containers: [{
    name: "main",
    image: "none",
    command: [
      "sh",
      "-c",
      `trap "" TERM; cat ${TOKEN_FOLDER}/token; echo; while :; do sleep 1; done`,
    ],
    volumeMounts: [{ name: "token", mountPath: TOKEN_FOLDER }],
  }],
  volumes: [{
    name: "token",
    projected: {
      sources: [{
        serviceAccountToken: {
          path: "token",
          audience: PUSH_AUDIENCE,
          expirationSeconds: 3600,
        },
      }],
    },
  }],
};

/** The token that a pod has said, once it runs. */
export function tokenOfLog(mallory: KubeClient, pod: Pod): Promise<string> {
  return until(`pod ${pod.metadata?.name} to say its token`, async () => {
    const log = await podLog(mallory, pod.metadata?.name ?? "", NAMESPACE);
    const [token = ""] = (log ?? "").split("\n");
    return token.split(".").length === 3 ? token : undefined;
  }, { timeoutMs: 60_000, everyMs: 200 });
}

/** A token bound to the pod, as whoever may create tokens gets it without running anything. */
export function tokenBoundTo(mallory: KubeClient, pod: Pod): Promise<string> {
  const { name = "", uid = "" } = pod.metadata ?? {};
  const account = { namespace: NAMESPACE, name: pod.spec?.serviceAccountName ?? "default" };
  return requestToken(mallory, account, { audience: PUSH_AUDIENCE, pod: { name, uid } });
}

/** The pod that the Job controller makes for a Job. */
export function podOfJob(client: KubeClient, job: string): Promise<Pod> {
  return until(`a pod of Job ${job}`, async () => {
    const { items } = await client.list(KINDS.pod, { namespace: NAMESPACE });
    return items.find(({ metadata }) =>
      controllerOf(metadata)?.name === job && metadata?.deletionTimestamp === undefined
    );
  }, { timeoutMs: 60_000 });
}

async function createVictim(client: KubeClient): Promise<Victim> {
  const name = freshName("victim");
  const key = { namespace: NAMESPACE, name };
  await client.create(KINDS.trainJob, trainJob(name, "idle"));
  const pod = await podOfJob(client, `${name}-node-0`);
  return {
    trainJob: await client.get(KINDS.trainJob, key),
    jobSet: await client.get(KINDS.jobSet, key),
    job: await client.get(KINDS.job, { namespace: NAMESPACE, name: `${name}-node-0` }),
    pod,
  };
}

async function installPolicy(plane: ControlPlane, mallory: KubeClient): Promise<void> {
  await apply(plane, parts(DEFAULTS).admission_policy);
  // The policy is enforced some moments after it is stored.
  await until("the policy is enforced", async () => {
    try {
      const labels = { "controller-uid": "probe" };
      const metadata = { namespace: NAMESPACE, name: freshName("probe"), labels };
      await mallory.create(KINDS.pod, { metadata, spec: TELLING });
      await mallory.delete(KINDS.pod, metadata, { gracePeriodSeconds: 0 });
      return false;
    } catch (error) {
      return String(error).includes(MANAGER.admissionPolicy);
    }
  }, { timeoutMs: 60_000, everyMs: 200 });
}

const caSchema = z.looseObject({ data: z.record(z.string(), z.string()) });

/** Puts Mallory on a cluster, with or without the policy that is against her. */
export async function createAttack(
  cluster: Pick<Cluster, "plane" | "manager">,
  { policy }: { readonly policy: boolean },
): Promise<Attack> {
  const { plane: { client }, plane, manager } = cluster;
  await apply(plane, [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: ACCOUNT },
    ROLE,
    BINDING,
  ]);
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
  const token = await serviceAccountToken(client, ACCOUNT);
  const mallory = createClient({
    connection: loadKubeconfig(await plane.kubeconfigFor(ACCOUNT.name, { token })),
  });
  if (policy) await installPolicy(plane, mallory);
  return {
    mallory,
    client,
    victim: () => createVictim(client),
    async push(name, bearer, kind = TRAINJOB) {
      const config = { namespace: NAMESPACE, name: childNames.tlsConfig(name) };
      const { data } = caSchema.parse(await client.get(KINDS.configMap, config));
      using http = Deno.createHttpClient({ caCerts: [data[CA_KEY] ?? ""] });
      const answer = await fetch(`${manager.statusUrl}${statusPath(kind, NAMESPACE, name)}`, {
        client: http,
        method: "POST",
        headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
        body: JSON.stringify({
          trainerStatus: { progressPercentage: 66, lastUpdatedTime: new Date().toISOString() },
        }),
        signal: AbortSignal.timeout(10_000),
      });
      await answer.body?.cancel();
      return answer.status;
    },
  };
}
