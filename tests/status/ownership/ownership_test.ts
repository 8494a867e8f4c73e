/** Tests of ownership: pods of a job by controller references and UIDs, never by labels. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { OwnerRef } from "../../../platform/kube/resource.ts";
import { createOwnership } from "../../../status/ownership/ownership.ts";
import { CLAIM, cluster, controller, owned, type TestCluster } from "./ownership_cluster.ts";

const set = (name: keyof TestCluster, key: string, value: unknown) => (cluster: TestCluster) => {
  if (value === undefined) cluster[name].delete(key);
  else Object.assign(cluster[name].get(key) ?? {}, value);
};
const reference = (name: keyof TestCluster, key: string, changes: Partial<OwnerRef>) =>
(
  cluster: TestCluster,
) => {
  const owner = cluster[name].get(key)?.metadata?.ownerReferences?.[0];
  assert(owner);
  Object.assign(owner, changes);
};
const POD = "team/job-1-node-0-0-abcde";
const JOB = "team/job-1-node-0";
const JOB_SET = "team/job-1";
const controllerOfJob = controller("jobSet", "job-1", "uid-jobset");

const REFUSED: Record<string, { change: (cluster: TestCluster) => void; why: string }> = {
  "a job that does not exist": { change: set("trainJob", JOB_SET, undefined), why: "unknown_job" },
  "a pod that is gone": { change: set("pod", POD, undefined), why: "pod_gone" },
  "a pod that was re-created": {
    change: set("pod", POD, owned("job-1-node-0-0-abcde", "uid-other")),
    why: "pod_gone",
  },
  "a pod that has succeeded": {
    change: set("pod", POD, { status: { phase: "Succeeded" } }),
    why: "pod_finished",
  },
  "a pod that has failed": {
    change: set("pod", POD, { status: { phase: "Failed" } }),
    why: "pod_finished",
  },
  "a service account that is gone": {
    change: set("serviceAccount", "team/default", undefined),
    why: "service_account_gone",
  },
  "a service account that was re-created": {
    change: set("serviceAccount", "team/default", owned("default", "uid-other")),
    why: "service_account_gone",
  },
  "a pod without owner": {
    change: set("pod", POD, owned("job-1-node-0-0-abcde", "uid-pod-1")),
    why: "not_of_this_job",
  },
  "an owner that is not the controller": {
    change: reference("pod", POD, { controller: false }),
    why: "not_of_this_job",
  },
  "an owner of another UID": {
    change: reference("pod", POD, { uid: "uid-forged" }),
    why: "not_of_this_job",
  },
  "an owner of another kind": {
    change: reference("pod", POD, { kind: "ReplicaSet" }),
    why: "not_of_this_job",
  },
  "an owner of another group": {
    change: reference("pod", POD, { apiVersion: "evil.example/v1" }),
    why: "not_of_this_job",
  },
  "a TrainJob as the pod's direct owner": {
    change: reference("pod", POD, {
      apiVersion: "trainer.kubeflow.org/v1alpha1",
      kind: "TrainJob",
      name: "job-1",
      uid: "uid-trainjob",
    }),
    why: "not_of_this_job",
  },
  "a pod whose name no controller would give": {
    change: set("job", JOB, { metadata: { ...owned("other-node-0", "uid-job").metadata } }),
    why: "not_of_this_job",
  },
  "a Job whose name no JobSet controller would give": {
    change: (cluster) => {
      cluster.job.set("team/job-1-node", owned("job-1-node", "uid-job", controllerOfJob));
      reference("pod", POD, { name: "job-1-node" })(cluster);
    },
    why: "not_of_this_job",
  },
  "a Job whose JobSet is gone": {
    change: set("jobSet", JOB_SET, undefined),
    why: "not_of_this_job",
  },
  "a JobSet of another name than its TrainJob": {
    change: reference("jobSet", JOB_SET, { name: "job-2" }),
    why: "not_of_this_job",
  },
  "a JobSet of an earlier TrainJob of that name": {
    change: set("trainJob", JOB_SET, owned("job-1", "uid-new")),
    why: "not_of_this_job",
  },
};

for (const [sentence, { change, why }] of Object.entries(REFUSED)) {
  Deno.test(`\`decide()\` refuses ${sentence}`, async () => {
    const { lookups, objects } = cluster();
    change(objects);
    const ownership = createOwnership({ lookups });
    assert.deepEqual(await ownership.decide(CLAIM), { ok: false, why });
  });
}

Deno.test("`decide()` refuses a pod whose name only begins with the name of its Job", async () => {
  const { lookups, objects } = cluster();
  const name = "job-1-node-01-0-abcde";
  const byJob = controller("job", "job-1-node-0", "uid-job");
  objects.pod.set(`team/${name}`, owned(name, "uid-pod-2", byJob));
  const claim = { ...CLAIM, pod: { name, uid: "uid-pod-2" } };
  const decision = await createOwnership({ lookups }).decide(claim);
  assert.deepEqual(decision, { ok: false, why: "not_of_this_job" });
});

const jobNames: Record<string, boolean> = {
  "job-1-node-0": true,
  "job-1-a-0": true,
  "job-1-a-17": true,
  "job-1-a-b-0": true,
  "job-1-7-0": true,
  "job-1-0": false,
  "job-1--0": false,
  "job-1-a": false,
  "job-1-a-": false,
  "job-1-a-x": false,
  "job-1-a-0x": false,
  "job-1": false,
  "job-10-a-0": false,
  "job-2-a-0": false,
};

for (const [name, isFit] of Object.entries(jobNames)) {
  const verb = isFit ? "accepts" : "refuses";
  Deno.test(`\`decide()\` ${verb} a pod of Job ${name} of JobSet job-1`, async () => {
    const { lookups, objects } = cluster();
    const pod = `${name}-0-abcde`;
    objects.job.set(`team/${name}`, owned(name, "uid-job-2", controllerOfJob));
    objects.pod.set(`team/${pod}`, owned(pod, "uid-pod-2", controller("job", name, "uid-job-2")));
    const claim = { ...CLAIM, pod: { name: pod, uid: "uid-pod-2" } };
    assert.deepEqual(
      await createOwnership({ lookups }).decide(claim),
      isFit ? { ok: true, jobUid: "uid-trainjob" } : { ok: false, why: "not_of_this_job" },
    );
  });
}

Deno.test("`decide()` refuses a pod of another job", async () => {
  const { lookups, objects } = cluster();
  objects.trainJob.set("team/job-2", owned("job-2", "uid-trainjob-2"));
  const decision = await createOwnership({ lookups }).decide({ ...CLAIM, job: "job-2" });
  assert.deepEqual(decision, { ok: false, why: "not_of_this_job" });
});

Deno.test("`decide()` accepts a pod of the job, also one that is terminating or has a long name", async () => {
  const { lookups, objects } = cluster();
  const ownership = createOwnership({ lookups });
  const want = { ok: true, jobUid: "uid-trainjob" };
  assert.deepEqual(await ownership.decide(CLAIM), want);
  Object.assign(objects.pod.get(POD)?.metadata ?? {}, {
    deletionTimestamp: "2026-01-01T00:00:00Z",
  });
  assert.deepEqual(await ownership.decide(CLAIM), want);

  // Kubernetes cuts the Job's name in the names of its pods where it is too long.
  const long = "j".repeat(48);
  const job = `${long}-node-0`;
  const name = `${job.slice(0, 50)}-0-abcde`;
  objects.trainJob.set(`team/${long}`, owned(long, "uid-t"));
  objects.jobSet.set(`team/${long}`, owned(long, "uid-s", controller("trainJob", long, "uid-t")));
  objects.job.set(`team/${job}`, owned(job, "uid-j", controller("jobSet", long, "uid-s")));
  objects.pod.set(`team/${name}`, owned(name, "uid-p", controller("job", job, "uid-j")));
  const claim = { ...CLAIM, job: long, pod: { name, uid: "uid-p" } };
  assert.deepEqual(await ownership.decide(claim), { ok: true, jobUid: "uid-t" });
});

Deno.test("`decide()` accepts a pod of a job of which the cache has an earlier one", async () => {
  const { lookups } = cluster();
  const earlier = owned("job-1", "uid-earlier");
  const ofTrainJobs = lookups.ofKind(TRAINJOB);
  const job: typeof ofTrainJobs.job = (key, uid) => uid ? ofTrainJobs.job(key) : earlier;
  const ofKind = () => ({ ...ofTrainJobs, job });
  const ownership = createOwnership({ lookups: { ...lookups, ofKind } });
  assert.deepEqual(await ownership.decide(CLAIM), { ok: true, jobUid: "uid-trainjob" });
});

Deno.test("`decide()` keeps a chain until its pod is gone", async () => {
  const { lookups, objects } = cluster();
  const ownership = createOwnership({ lookups });
  const want = { ok: true, jobUid: "uid-trainjob" };
  assert.deepEqual(await ownership.decide(CLAIM), want);
  objects.job.clear();
  objects.jobSet.clear();
  assert.deepEqual(await ownership.decide(CLAIM), want);
  ownership.forgetPod("uid-pod-1");
  assert.deepEqual(await ownership.decide(CLAIM), { ok: false, why: "not_of_this_job" });
});

Deno.test("`decide()` answers a made-up job name without looking for it", async () => {
  const { lookups, count } = cluster();
  const ownership = createOwnership({ lookups });
  await ownership.decide(CLAIM);
  const names: string[] = [];
  const job = (key: { readonly name: string }) => {
    names.push(key.name);
    return undefined;
  };
  const ofKind = () => ({ ...lookups.ofKind(TRAINJOB), job });
  const asked = createOwnership({ lookups: { ...lookups, ofKind } });
  for (let i = 0; i < 20; i++) {
    const decision = await asked.decide({ ...CLAIM, job: `made-up-${i}` });
    assert.deepEqual(decision, { ok: false, why: "unknown_job" });
  }
  assert.deepEqual(names, []);
  // Pod and service account each time; Job and JobSet once, since the chain is known then.
  assert.equal(count.lookups, 5 + 20 * 2 + 2);
});
