/**
 * Tests of attacks on the ownership of v1 jobs, with real tokens bound to real pods on a real control plane: a user
 * who may create pods and what makes pods tries to report for somebody else's job of each kind. With the shipped
 * admission policy no attempt succeeds; those that succeed without it are listed (docs/guides/security.md).
 */
import assert from "node:assert/strict";
import { JOB_KINDS } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { LABELS } from "../../crds/names.ts";
import type { V1Job } from "../../crds/v1/job.ts";
import { V1_KIND_LIST, V1_KINDS, type V1KindName } from "../../crds/v1/kinds.ts";
import { V1_API_VERSION, V1_LABELS } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import type { KubeMeta } from "../../platform/kube/resource.ts";
import { until } from "../support/until.ts";
import { controlledBy, freshName } from "./support/admission_world.ts";
import {
  type Attack,
  createAttack,
  NAMESPACE,
  TELLING,
  tokenBoundTo,
  tokenOfLog,
} from "./support/attacker.ts";
import { type AttemptEnds, type AttemptToPush, compareAttempts } from "./support/attempts.ts";
import { type PodMaker, tokenOfOrphan } from "./support/orphans.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster("v1");

/** A job of somebody else, with one of its pods. */
interface Victim {
  readonly kind: V1KindName;
  readonly job: V1Job;
  readonly pod: Pod;
}

const nameOf = ({ metadata }: { metadata?: KubeMeta }) => metadata?.name ?? "";
const keyOf = (object: { metadata?: KubeMeta }) => ({
  namespace: NAMESPACE,
  name: nameOf(object),
});

function jobKindOf(kind: V1KindName) {
  const found = JOB_KINDS.all.find((it) => it.kind === kind);
  assert.ok(found, kind);
  return found;
}

/** Replica types of the least job of each kind that has others than a worker. */
const TYPES: Partial<Record<V1KindName, readonly string[]>> = {
  XGBoostJob: ["Master"],
  MPIJob: ["Launcher", "Worker"],
  MXJob: ["Scheduler", "Server", "Worker"],
};

async function createVictim(
  { client }: Attack,
  kind: V1KindName,
  name = freshName("victim"),
): Promise<Victim> {
  const { specsKey, container } = V1_KINDS[kind];
  const command = ["sleep", "600"];
  const replica = {
    template: { spec: { containers: [{ name: container, image: "none", command }] } },
  };
  const specs = Object.fromEntries((TYPES[kind] ?? ["Worker"]).map((type) => [type, replica]));
  const job = await client.create(
    V1_RESOURCES[kind],
    V1_RESOURCES[kind].parse({
      apiVersion: V1_API_VERSION,
      kind,
      metadata: { namespace: NAMESPACE, name },
      spec: { [specsKey]: specs, ...kind === "MXJob" ? { jobMode: "MXTrain" } : {} },
    }),
  );
  const pod = await until(`a pod of ${kind} ${name}`, async () => {
    const labelSelector = `${V1_LABELS.jobName}=${name},${LABELS.jobKind}=${V1_KINDS[kind].plural}`;
    const { items } = await client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector });
    return items.find(({ metadata }) => metadata?.deletionTimestamp === undefined);
  }, { timeoutMs: 60_000 });
  return { kind, job, pod };
}

/** Every label by which the pods of the victim's job are known, of a replica that the job does not have. */
const labelsOf = ({ pod }: Victim) => ({
  ...pod.metadata?.labels,
  [V1_LABELS.replicaIndex]: "7",
});
const byJob = ({ kind, job }: Victim) => controlledBy(V1_RESOURCES[kind], job);
/** A name as the engine would give it to a pod of the victim. */
const fittingName = ({ job }: Victim) => `${nameOf(job)}-worker-7-${freshName("x")}`;

const createPod = ({ mallory }: Attack, metadata: KubeMeta): Promise<Pod> =>
  mallory.create(KINDS.pod, { metadata: { namespace: NAMESPACE, ...metadata }, spec: TELLING });

/** One way to get a token, and how a push with it ends. */
interface Attempt extends AttemptEnds {
  readonly steal: (attack: Attack, victim: Victim) => Promise<string>;
}

const forgedPod =
  (metadata: (victim: Victim) => KubeMeta): Attempt["steal"] => async (attack, victim) => {
    const pod = await createPod(attack, { name: fittingName(victim), ...metadata(victim) });
    return await tokenBoundTo(attack.mallory, pod);
  };

/** A running pod that has printed its token, and is changed then. */
const changedPod =
  (metadata: (victim: Victim) => KubeMeta): Attempt["steal"] => async (attack, victim) => {
    const pod = await createPod(attack, { name: fittingName(victim) });
    const token = await tokenOfLog(attack.mallory, pod);
    const body = { metadata: metadata(victim) };
    await attack.mallory.patch(KINDS.pod, keyOf(pod), { type: "merge", body });
    return token;
  };

const orphanOf = (maker: PodMaker): Attempt["steal"] => (attack, victim) =>
  tokenOfOrphan(attack, maker, { job: nameOf(victim.job), labels: labelsOf(victim) });

const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  "a pod with every label of the job's pods": {
    steal: forgedPod((victim) => ({ labels: labelsOf(victim) })),
    withPolicy: "admission",
    without: 200,
  },
  "a pod with the job as its controller": {
    steal: forgedPod((victim) => ({ ownerReferences: [byJob(victim)] })),
    withPolicy: "admission",
    without: 200,
  },
  "the same with a name that does not fit": {
    steal: forgedPod((victim) => ({
      name: freshName("stranger"),
      ownerReferences: [byJob(victim)],
    })),
    withPolicy: "admission",
    without: 403,
  },
  "a pod that the job owns without controlling it": {
    steal: forgedPod((victim) => ({
      ownerReferences: [{ ...byJob(victim), controller: false }],
    })),
    withPolicy: 403,
    without: 403,
  },
  "a pod in the place of one of the job's, by its name": {
    steal: async (attack, { pod }) => {
      const { mallory } = attack;
      // The engine makes the pod of the same name again: Mallory tries to be faster, or waits.
      // A pod of hers may be gone again before she has its token.
      return await until("the name is free", async () => {
        await mallory.delete(KINDS.pod, keyOf(pod), { gracePeriodSeconds: 0 }).catch(() => {});
        return await tokenBoundTo(mallory, await createPod(attack, { name: nameOf(pod) }));
      }, { timeoutMs: 60_000, everyMs: 5 });
    },
    withPolicy: 403,
    without: 403,
  },
  "a running pod that gets the job as its controller": {
    steal: changedPod((victim) => ({ ownerReferences: [byJob(victim)] })),
    withPolicy: "admission",
    without: 200,
  },
  "a running pod that gets every label of the job's pods": {
    steal: changedPod((victim) => ({ labels: labelsOf(victim) })),
    withPolicy: "admission",
    without: 200,
  },
  "an orphan of a ReplicaSet with these labels": {
    steal: orphanOf("ReplicaSet"),
    withPolicy: "admission",
    without: 200,
  },
  "an orphan of a StatefulSet with these labels": {
    steal: orphanOf("StatefulSet"),
    withPolicy: "admission",
    without: 200,
  },
  "an orphan of a DaemonSet with these labels": {
    steal: orphanOf("DaemonSet"),
    withPolicy: "admission",
    without: 200,
  },
  "the token of a pod of another job of the kind": {
    steal: async (attack, { kind }) => {
      const { pod } = await createVictim(attack, kind);
      return await tokenBoundTo(attack.mallory, pod);
    },
    withPolicy: 403,
    without: 403,
  },
  "the token of a pod of another kind's job with the same name": {
    steal: async (attack, { kind, job }) => {
      // Pods of both must not have the same names.
      const other = kind === "XGBoostJob" ? "TFJob" : "XGBoostJob";
      const { pod } = await createVictim(attack, other, nameOf(job));
      return await tokenBoundTo(attack.mallory, pod);
    },
    withPolicy: 403,
    without: 403,
  },
};

/** Removes the victim, and the pods that are named after it: a node takes only so many. */
async function remove({ client }: Attack, { kind, job }: Victim): Promise<void> {
  await client.delete(V1_RESOURCES[kind], keyOf(job)).catch(() => {});
  const { items } = await client.list(KINDS.pod, { namespace: NAMESPACE });
  const named = items.filter((pod) => nameOf(pod).startsWith(`${nameOf(job)}-`));
  await Promise.all(
    named.map((pod) =>
      client.delete(KINDS.pod, keyOf(pod), { gracePeriodSeconds: 0 }).catch(() => {})
    ),
  );
}

/** Every attempt on a job of each of these kinds. */
function attemptsOf(
  attack: Attack,
  kinds: readonly V1KindName[],
): Record<string, AttemptToPush> {
  return Object.fromEntries(
    kinds.flatMap((kind) =>
      Object.entries(ATTEMPTS).map(([sentence, { steal, ...ends }]) => [`${kind}: ${sentence}`, {
        ...ends,
        async steal() {
          const victim = await createVictim(attack, kind);
          try {
            const token = await steal(attack, victim);
            return {
              push: () => attack.push(nameOf(victim.job), token, jobKindOf(kind)),
              cleanUp: () => remove(attack, victim),
            };
          } catch (error) {
            await remove(attack, victim);
            throw error;
          }
        },
      }])
    ),
  );
}

Deno.test("with the admission policy no user can report for somebody else's v1 job", (t) =>
  withSharedCluster(async (cluster) => {
    const attack = await createAttack(cluster, { policy: true });
    const kinds = V1_KIND_LIST.map(({ kind }) => kind);
    await compareAttempts(t, attemptsOf(attack, kinds), "withPolicy");
  }, { inProcess: true }));

Deno.test("without the admission policy only the listed attempts reach somebody else's v1 job", (t) =>
  withSharedCluster(async (cluster) => {
    const attack = await createAttack(cluster, { policy: false });
    // What the policy refuses depends on the kind; what is decided by UIDs does not.
    await compareAttempts(t, attemptsOf(attack, ["PyTorchJob", "MPIJob"]), "without");
  }, { inProcess: true }));
