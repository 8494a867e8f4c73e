/**
 * Tests of attacks on ownership, with real tokens bound to real pods on a real control plane: a user who
 * may create pods, Jobs and JobSets in a namespace tries to report for somebody else's TrainJob. With the
 * shipped admission policy no attempt succeeds; those that succeed without it are listed
 * (docs/guides/security.md).
 */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { Job, Pod } from "../../platform/kube/kubernetes.ts";
import { LABELS, PUSH_AUDIENCE } from "../../crds/names.ts";
import { JOB_KEYS } from "../../crds/job_names.ts";
import {
  JOBSET_API_VERSION,
  JOBSET_KEYS,
  MILEPOST_JOBSET_CONTROLLER,
} from "../../crds/jobset_names.ts";
import type { KubeMeta } from "../../platform/kube/resource.ts";
import { requestToken, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { controlledBy, freshName } from "./support/admission_world.ts";
import {
  type Attack,
  createAttack,
  NAMESPACE,
  podOfJob,
  TELLING,
  tokenBoundTo,
  tokenOfLog,
  type Victim,
} from "./support/attacker.ts";
import { type AttemptEnds, compareAttempts } from "./support/attempts.ts";
import { apply, withCluster } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { type PodMaker, tokenOfOrphan } from "./support/orphans.ts";
import { reporterOf, statusOf } from "./support/pushing.ts";

const withSharedCluster = shareCluster();

/** Result of an attempt: a token, and the TrainJob that it is for. */
interface Loot {
  readonly token: string;
  readonly trainJob: string;
}

/** One way to try it, and how it ends. */
interface Attempt extends AttemptEnds {
  readonly steal: (attack: Attack, victim: Victim) => Promise<Loot>;
}

const nameOf = (object: { metadata?: KubeMeta }) => object.metadata?.name ?? "";
const keyOf = (object: { metadata?: KubeMeta }) => ({
  namespace: NAMESPACE,
  name: nameOf(object),
});
const merge = (metadata: KubeMeta) => ({ type: "merge" as const, body: { metadata } });
const byJob = ({ job }: Victim) => controlledBy(KINDS.job, job);

/** A name as the Job controller would give it to a pod of the victim. */
const fittingName = (victim: Victim) => `${nameOf(victim.job)}-0-${freshName("x")}`;

async function createPod({ mallory }: Attack, metadata: KubeMeta): Promise<Pod> {
  return await mallory.create(KINDS.pod, {
    metadata: { namespace: NAMESPACE, ...metadata },
    spec: TELLING,
  });
}

/** A pod with this metadata; its token is asked for at once, whether it runs or not. */
const forgedPod =
  (metadata: (victim: Victim) => KubeMeta): Attempt["steal"] => async (attack, victim) => {
    const pod = await createPod(attack, { name: fittingName(victim), ...metadata(victim) });
    return { token: await tokenBoundTo(attack.mallory, pod), trainJob: nameOf(victim.trainJob) };
  };

/** A running pod that has printed its token, and is changed then. */
const changedPod =
  (metadata: (victim: Victim) => KubeMeta): Attempt["steal"] => async (attack, victim) => {
    const { mallory } = attack;
    const annotations = { [JOB_KEYS.completionIndex]: "0" };
    const pod = await createPod(attack, { name: fittingName(victim), annotations });
    const token = await tokenOfLog(mallory, pod);
    await mallory.patch(KINDS.pod, keyOf(pod), merge(metadata(victim)));
    return { token, trainJob: nameOf(victim.trainJob) };
  };

function jobOf(metadata: KubeMeta, labels: Record<string, string> = {}): Job {
  return {
    metadata: { namespace: NAMESPACE, ...metadata },
    spec: { template: { metadata: { labels }, spec: TELLING } },
  };
}

/** Labels by which a Job adopts pods. */
const selected = ({ job }: Victim) => {
  const uid = job.metadata?.uid ?? "";
  return { [JOB_KEYS.controllerUid]: uid, [JOB_KEYS.legacyControllerUid]: uid };
};

/** A pod that another controller makes, with the labels by which the Job controller adopts its orphans. */
const orphanOf = (kind: PodMaker): Attempt["steal"] => async (attack, victim) => ({
  token: await tokenOfOrphan(attack, kind, { job: nameOf(victim.job), labels: selected(victim) }),
  trainJob: nameOf(victim.trainJob),
});

const ATTEMPTS: Record<string, Attempt> = {
  "a pod with every label of the job's pods": {
    steal: forgedPod(({ trainJob, job }) => ({
      labels: {
        [LABELS.trainJobName]: nameOf(trainJob),
        [JOBSET_KEYS.jobSetName]: nameOf(trainJob),
        [JOB_KEYS.jobName]: nameOf(job),
      },
    })),
    withPolicy: "admission",
    without: 403,
  },
  "a pod with the job's Job as its controller": {
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
  "a pod that the job's Job owns without controlling it": {
    steal: forgedPod((victim) => ({
      ownerReferences: [{ ...byJob(victim), controller: false }],
    })),
    withPolicy: 403,
    without: 403,
  },
  "a pod with the JobSet as its controller": {
    steal: forgedPod(({ jobSet }) => ({
      ownerReferences: [controlledBy(KINDS.jobSet, jobSet)],
    })),
    withPolicy: "admission",
    without: 403,
  },
  "a pod with the TrainJob as its controller": {
    steal: forgedPod(({ trainJob }) => ({
      ownerReferences: [controlledBy(KINDS.trainJob, trainJob)],
    })),
    withPolicy: "admission",
    without: 403,
  },
  "a pod in the place of one of the job's, by its name": {
    steal: async (attack, { pod, trainJob }) => {
      const { mallory } = attack;
      // Both are there for no time: the Job controller makes the next one under another name.
      await mallory.delete(KINDS.pod, keyOf(pod), { gracePeriodSeconds: 0 });
      const mine = await until("the name is free", () => createPod(attack, { name: nameOf(pod) }));
      return { token: await tokenBoundTo(mallory, mine), trainJob: nameOf(trainJob) };
    },
    withPolicy: 403,
    without: 403,
  },
  "a running pod that gets the Job as its controller": {
    steal: changedPod((victim) => ({ ownerReferences: [byJob(victim)] })),
    withPolicy: "admission",
    without: 200,
  },
  "a running pod that gets the labels by which the Job controller adopts": {
    steal: changedPod((victim) => ({ labels: selected(victim) })),
    withPolicy: "admission",
    without: 200,
  },
  "an orphan of a ReplicaSet with the labels by which the Job controller adopts": {
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
  "a Job with the JobSet as its controller": {
    steal: async ({ mallory, client }, { jobSet, trainJob }) => {
      const name = `${nameOf(trainJob)}-mine-0`;
      const ownerReferences = [controlledBy(KINDS.jobSet, jobSet)];
      await mallory.create(KINDS.job, jobOf({ name, ownerReferences }));
      const pod = await podOfJob(client, name);
      return { token: await tokenBoundTo(mallory, pod), trainJob: nameOf(trainJob) };
    },
    withPolicy: "admission",
    without: 200,
  },
  "a running Job that gets the JobSet as its controller": {
    steal: async ({ mallory, client }, { jobSet, trainJob }) => {
      const name = `${nameOf(trainJob)}-later-0`;
      const job = await mallory.create(KINDS.job, jobOf({ name }));
      const token = await tokenOfLog(mallory, await podOfJob(client, name));
      const ownerReferences = [controlledBy(KINDS.jobSet, jobSet)];
      await mallory.patch(KINDS.job, keyOf(job), merge({ ownerReferences }));
      return { token, trainJob: nameOf(trainJob) };
    },
    withPolicy: "admission",
    without: 200,
  },
  "a Job that waits for its JobSet to take it": {
    steal: async ({ mallory, client }) => {
      const name = freshName("awaited");
      await mallory.create(KINDS.job, jobOf({ name: `${name}-node-0` }));
      const token = await tokenOfLog(mallory, await podOfJob(client, `${name}-node-0`));
      await client.create(KINDS.trainJob, trainJob(name, "idle"));
      await until("the JobSet is there", async () => {
        await client.get(KINDS.jobSet, { namespace: NAMESPACE, name });
        return true;
      });
      return { token, trainJob: name };
    },
    withPolicy: 403,
    without: 403,
  },
  "the same with the labels of a JobSet": {
    steal: async ({ mallory, client }) => {
      const name = freshName("awaited");
      const labels = { [JOBSET_KEYS.jobSetName]: name, [LABELS.trainJobName]: name };
      await mallory.create(KINDS.job, jobOf({ name: `${name}-node-0`, labels }, labels));
      const token = await tokenOfLog(mallory, await podOfJob(client, `${name}-node-0`));
      await client.create(KINDS.trainJob, trainJob(name, "idle"));
      return { token, trainJob: name };
    },
    withPolicy: "admission",
    without: 403,
  },
  "a JobSet that waits for its TrainJob, and takes it as its controller": {
    steal: async ({ mallory, client }) => {
      const name = freshName("early");
      const jobSet = await mallory.create(
        KINDS.jobSet,
        KINDS.jobSet.parse({
          apiVersion: JOBSET_API_VERSION,
          kind: KINDS.jobSet.kind,
          metadata: { namespace: NAMESPACE, name },
          spec: {
            managedBy: MILEPOST_JOBSET_CONTROLLER,
            replicatedJobs: [{ name: "node", template: { spec: { template: { spec: TELLING } } } }],
          },
        }),
      );
      const token = await tokenOfLog(mallory, await podOfJob(client, `${name}-node-0`));
      const theirs = await client.create(KINDS.trainJob, trainJob(name, "idle"));
      const ownerReferences = [controlledBy(KINDS.trainJob, theirs)];
      await mallory.patch(KINDS.jobSet, keyOf(jobSet), merge({ ownerReferences }));
      return { token, trainJob: name };
    },
    withPolicy: "admission",
    without: 200,
  },
  "the token of a pod of another TrainJob": {
    steal: async (attack, { trainJob }) => {
      const { pod } = await attack.victim();
      return { token: await tokenBoundTo(attack.mallory, pod), trainJob: nameOf(trainJob) };
    },
    withPolicy: 403,
    without: 403,
  },
  "a token that is bound to no pod": {
    steal: async ({ mallory }, { trainJob }) => ({
      token: await requestToken(
        mallory,
        { namespace: NAMESPACE, name: "default" },
        { audience: PUSH_AUDIENCE },
      ),
      trainJob: nameOf(trainJob),
    }),
    withPolicy: 403,
    without: 403,
  },
};

/** The attempts, each with a victim of its own. */
const attemptsOf = (attack: Attack) =>
  Object.fromEntries(
    Object.entries(ATTEMPTS).map(([sentence, { steal, ...ends }]) => [sentence, {
      ...ends,
      steal: async () => {
        const { token, trainJob } = await steal(attack, await attack.victim());
        return { push: () => attack.push(trainJob, token) };
      },
    }]),
  );

Deno.test("with the admission policy no user can report for somebody else's TrainJob", (t) =>
  withSharedCluster(async (cluster) => {
    const attack = await createAttack(cluster, { policy: true });
    const { client } = cluster.plane;
    const { trainJob } = await attack.victim();
    using honest = await reporterOf(client, { trainJob: nameOf(trainJob) });
    const report = async (percentage: number) =>
      assert.equal(
        await honest.send(cluster.manager.statusUrl, statusOf(percentage)),
        200,
        honest.lastAnswer,
      );
    await report(10);
    await compareAttempts(t, attemptsOf(attack), "withPolicy");
    await report(12);
    await until("the honest report shows", async () => {
      const job = await client.get(KINDS.trainJob, keyOf(trainJob));
      return job.status?.trainerStatus?.progressPercentage === 12;
    });
    const { items } = await client.list(KINDS.trainJob, { namespace: NAMESPACE });
    const touched = items.filter(({ status }) => status?.trainerStatus?.progressPercentage === 66);
    assert.deepEqual(touched.map(nameOf), [], "what the attacker says shows nowhere");
  }, { inProcess: true }));

Deno.test("without the admission policy only the listed attempts reach somebody else's TrainJob", (t) =>
  withSharedCluster(async (cluster) => {
    const attack = await createAttack(cluster, { policy: false });
    await compareAttempts(t, attemptsOf(attack), "without");
  }, { inProcess: true }));

/** The account of all controllers of Kubernetes, with all rights, if none has one of its own. */
const SHARED_ACCOUNT = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "shared-controller-account" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ kind: "User", name: "system:kube-controller-manager" }],
};

Deno.test("with the admission policy no user can, also if all controllers share an account", (t) =>
  withCluster(async (cluster) => {
    const attack = await createAttack(cluster, { policy: true });
    await t.step("an ordinary Job runs", async () => {
      const name = freshName("ordinary");
      await attack.mallory.create(KINDS.job, jobOf({ name }));
      await tokenOfLog(attack.mallory, await podOfJob(attack.client, name));
    });
    await compareAttempts(t, attemptsOf(attack), "withPolicy");
  }, {
    inProcess: true,
    plane: {
      flags: { controllerManager: ["--use-service-account-credentials=false"] },
      beforeControllers: (plane) => apply(plane, [SHARED_ACCOUNT]),
    },
  }));
