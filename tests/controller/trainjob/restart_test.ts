/** Tests of restarts of a TrainJob: its pods go before others come, once, whatever is killed, and what is said meanwhile. */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import type { JobSet } from "../../../crds/jobset.ts";
import { JOBSET_API_VERSION, JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import { restartOf } from "../../../crds/job_state.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, LABELS } from "../../../crds/names.ts";
import type { TrainJobSpec } from "../../../crds/trainjob.ts";
import { controllerReference } from "../../../platform/kube/owner_references.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import type { Job, Pod } from "../../../platform/kube/kubernetes.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import { runtime, trainJob } from "../builders.ts";
import { KEY, START, World } from "./world.ts";

const JOB = "ml/tj-node-0";
const RUNNING = { name: "node", ready: 1, succeeded: 0, failed: 0, active: 1, suspended: 0 };

/** A cluster with an executor, a Job controller and a kubelet that do one thing at a time. */
class Cluster extends World {
  /** Pods that were made, in their order. */
  made = 0;
  /** Whether pods that are deleted stay. */
  isNodeDead = false;

  pods() {
    return this.cluster.all(KINDS.pod);
  }

  living() {
    return this.pods().filter(({ status }) => status?.phase === "Running");
  }

  job(): Job | undefined {
    return this.cluster.peek(KINDS.job, JOB);
  }

  putPod(phase = "Running", deletionTimestamp?: string): string {
    const name = `tj-node-0-${this.made++}`;
    const { metadata: { uid = "" } = {} } = this.jobSet ?? {};
    const labels = {
      [LABELS.trainJobName]: "tj",
      [JOBSET_KEYS.jobSetUid]: uid,
      [JOBSET_KEYS.replicatedJobName]: "node",
      [JOBSET_KEYS.restartAttempt]: "0",
    };
    this.cluster.put(KINDS.pod, {
      metadata: { namespace: "ml", name, uid: `uid-of-${name}`, labels, deletionTimestamp },
      spec: { nodeName: "n1", containers: [{ name: "node" }] },
      status: { phase },
    });
    return name;
  }

  /** One thing that the others do; false if nothing is to be done. */
  turn(): boolean {
    const set = this.jobSet;
    if (set === undefined) return false;
    const job = this.job();
    const suspend = set.spec?.suspend === true;
    if (job === undefined) {
      const { name = "", uid = "" } = set.metadata;
      this.cluster.put(KINDS.job, {
        metadata: {
          namespace: "ml",
          name: "tj-node-0",
          labels: { [JOBSET_KEYS.replicatedJobName]: "node", [JOBSET_KEYS.jobSetName]: name },
          ownerReferences: [
            controllerReference({ apiVersion: JOBSET_API_VERSION, kind: "JobSet", name, uid }),
          ],
        },
        spec: { suspend, template: {} },
      });
      return true;
    }
    if ((job.spec?.suspend ?? false) !== suspend) {
      this.cluster.edit(KINDS.job, JOB, { spec: { suspend } });
      return true;
    }
    const wanted = suspend ? "True" : "False";
    const said = set.status?.conditions?.find(({ type }) => type === "Suspended")?.status;
    if ((said ?? "False") !== wanted) {
      const replicatedJobsStatus = [
        suspend ? { ...RUNNING, ready: 0, active: 0, suspended: 1 } : RUNNING,
      ];
      this.report({ conditions: [this.condition("Suspended", wanted)], replicatedJobsStatus });
      return true;
    }
    if (suspend) {
      const heard = job.status?.conditions?.some(({ status }) => status === "True");
      if (!heard) {
        this.cluster.edit(KINDS.job, JOB, {
          status: { conditions: [this.condition("Suspended")] },
        });
        return true;
      }
      const [first] = this.living();
      if (first === undefined || this.isNodeDead) return false;
      const key = `ml/${first.metadata?.name}`;
      if (first.metadata?.deletionTimestamp === undefined) {
        this.cluster.edit(KINDS.pod, key, { metadata: { deletionTimestamp: rfc3339(this.now) } });
      } else this.cluster.remove(KINDS.pod, key);
      return true;
    }
    const isActive = ({ metadata }: Pod) => metadata?.deletionTimestamp === undefined;
    if (this.living().some(isActive)) return false;
    equal(this.living().length, 0, "a pod comes beside one that still goes");
    this.putPod();
    this.cluster.edit(KINDS.job, JOB, { status: { conditions: [], succeeded: 0 } });
    return true;
  }

  /** Passes and turns until nothing is to be done. */
  async live(): Promise<void> {
    for (let round = 0; round < 60; round++) {
      const before = this.cluster.writes.length;
      await this.reconcile().catch((error) => {
        if (!(error instanceof Error) || error.message !== "killed") throw error;
      });
      const isQuiet = this.cluster.writes.length === before;
      if (!this.turn() && isQuiet) return;
    }
    throw new Error("it goes on and on");
  }

  /** Stores a restart, as the owner does. */
  restart(count = 1): void {
    const restart = {
      count,
      reason: "Asked",
      message: "m",
      time: rfc3339(this.now),
      endTime: null,
    };
    this.cluster.edit(KINDS.trainJob, KEY, { status: { restart } });
  }

  get restarted(): string[] {
    return this.events.filter(({ reason }) => reason === "Restarted").map(({ message }) => message);
  }
}

/** A job that runs. */
async function running(spec: Partial<TrainJobSpec> = {}): Promise<Cluster> {
  const world = new Cluster();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  const creationTimestamp = rfc3339(START);
  world.cluster.put(KINDS.trainJob, trainJob(spec, { creationTimestamp }));
  await world.live();
  equal(world.trainJob.status?.state, "Running");
  world.events.length = 0;
  return world;
}

Deno.test("a job is restarted: its pod goes before the next comes, and the job stays Running", async () => {
  const world = await running({ activeDeadlineSeconds: 3600 });
  world.now += 60_000;
  world.restart();
  const states = new Set<string>();
  for (let round = 0; round < 20; round++) {
    await world.reconcile();
    const { state, conditions = [], jobsStatus, startTime } = world.trainJob.status ?? {};
    states.add(`${state} ${conditions.length} ${jobsStatus?.[0]?.suspended} ${startTime}`);
    const { requeueAfterMs = 0 } = await world.reconcile() ?? {};
    ok(requeueAfterMs <= 3_540_001, "the deadline is counted from the start");
    if (!world.turn()) break;
  }
  await world.live();
  equal(world.made, 2);
  deepEqual([...states].filter((it) => !it.startsWith("Running 0 ")), []);
  ok([...states].every((it) => it.endsWith("undefined")), "the start does not move");
  const restart = restartOf(world.trainJob);
  equal(restart?.endTime, rfc3339(world.now));
  equal(restart?.count, 1);
  equal(world.trainJob.status?.restarts, 1, "it is counted with its end");
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], "1");
  deepEqual(world.events.map(({ reason }) => reason), ["Restarted"]);
});

Deno.test("restarts follow one another, and the run begins anew with a resumption after one", async () => {
  const world = await running();
  for (const count of [1, 2, 3]) {
    world.restart(count);
    await world.live();
    equal(world.made, count + 1);
    equal(restartOf(world.trainJob)?.count, count);
    equal(world.trainJob.status?.restarts, count);
  }
  equal(world.restarted.length, 3);
  world.edit({ suspend: true });
  await world.live();
  equal(world.trainJob.status?.state, "Suspended");
  world.now += 60_000;
  world.edit({ suspend: false });
  await world.live();
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], undefined);
  equal(world.trainJob.status?.startTime, rfc3339(world.now));
  world.now += 60_000;
  world.restart(4);
  await world.live();
  equal(world.made, 6);
  equal(world.trainJob.status?.startTime, rfc3339(world.now - 60_000), "it does not move");
});

Deno.test("a restart goes on when killed at any write, before or after it, and its pods are never beside others", async () => {
  const undisturbed = await running();
  const from = undisturbed.cluster.writes.length;
  undisturbed.restart();
  undisturbed.cluster.edit(KINDS.job, JOB, { status: { succeeded: 1 } });
  await undisturbed.live();
  const writes = undisturbed.cluster.writes.slice(from);
  deepEqual(writes.map(({ verb, kind }) => `${verb} ${kind}`), [
    "patch JobSet",
    "patch TrainJob",
    "delete Job",
    "patch JobSet",
    "patch TrainJob",
    "patch TrainJob",
  ]);
  for (const when of ["before", "after"] as const) {
    for (let n = 1; n <= writes.length; n++) {
      const world = await running();
      let count = 0;
      world.cluster.faults.push(({ verb }, phase) => {
        const isWrite = ["create", "patch", "delete"].includes(verb);
        return phase === when && isWrite && ++count === n ? new Error("killed") : undefined;
      });
      world.restart();
      world.cluster.edit(KINDS.job, JOB, { status: { succeeded: 1 } });
      await world.live();
      ok(count >= n, `write ${n} never came`);
      equal(world.made, 2, `killed ${when} write ${n}`);
      equal(world.living().length, 1);
      equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
      ok(world.restarted.length <= 1);
    }
  }
});

Deno.test("a JobSet is not suspended again by a cache that has not seen the end of a restart", async () => {
  const world = await running();
  world.restart();
  await world.live();
  world.cluster.hold(KINDS.trainJob, KINDS.jobSet);
  world.restart(2);
  for (let round = 0; round < 30; round++) {
    await world.pass();
    world.turn();
  }
  equal(world.made, 2, "the cache shows no restart");
  world.cluster.catchUp();
  await world.reconcile();
  world.cluster.hold(KINDS.trainJob);
  for (let round = 0; round < 60; round++) {
    await world.pass();
    world.turn();
  }
  equal(world.made, 3, "the cache still shows the second one");
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
});

Deno.test("pods of which the cache does not know hold the restart up", async () => {
  const world = await running();
  world.restart();
  await world.reconcile();
  world.cluster.hold(KINDS.pod);
  const hidden = world.putPod();
  world.isNodeDead = true;
  for (const pod of world.living()) {
    if (pod.metadata?.name !== hidden) world.cluster.remove(KINDS.pod, `ml/${pod.metadata?.name}`);
  }
  for (let round = 0; round < 10; round++) {
    await world.pass();
    world.turn();
  }
  equal(world.jobSet?.spec?.suspend, true);
  world.cluster.catchUp();
  world.cluster.remove(KINDS.pod, `ml/${hidden}`);
  world.isNodeDead = false;
  await world.live();
  equal(world.living().length, 1);
});

Deno.test("pods that do not go are told once, and waited for", async () => {
  const world = await running();
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.cluster.edit(KINDS.pod, "ml/tj-node-0-0", {
    metadata: { deletionTimestamp: rfc3339(world.now + 30_000) },
  });
  deepEqual(await world.reconcile(), { requeueAfterMs: 90_000 });
  for (let minute = 0; minute < 30; minute++) {
    world.now += 60_000;
    await world.live();
  }
  equal(world.made, 1);
  deepEqual(world.warnings.map(({ reason, message }) => `${reason}: ${message}`), [
    'RestartWaits: Restart 1 waits: pod "tj-node-0-0" on node "n1" do not go; is the node dead?',
  ]);
  equal(world.trainJob.status?.state, "Running");
  world.isNodeDead = false;
  await world.live();
  equal(world.made, 2);
});

Deno.test("finished pods are not waited for", async () => {
  const world = await running();
  world.putPod("Succeeded");
  world.putPod("Failed");
  world.restart();
  await world.live();
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
});

const FORBIDDEN = new KubeError(
  'jobs.batch "tj-node-0" is forbidden: User "x" cannot delete resource "jobs" in API group "batch"',
  { code: 403, reason: "Forbidden" },
);

Deno.test("without the right to delete Jobs a restart waits and names the role, and all else goes on", async () => {
  const world = await running();
  world.cluster.faults.push(({ verb, kind }) =>
    verb === "delete" && kind === "Job" ? FORBIDDEN : undefined
  );
  world.restart();
  world.cluster.edit(KINDS.job, JOB, { status: { succeeded: 1 } });
  for (let round = 0; round < 20; round++) {
    await world.reconcile();
    world.turn();
  }
  deepEqual(await world.reconcile(), { requeueAfterMs: 60_000 });
  equal(world.warnings.length, 1);
  match(
    world.warnings[0]?.message ?? "",
    /^Restart 1 waits: .*is forbidden.*; bind the ClusterRole kubeflow-trainer-controller-manager-restarts to the manager's service account \(Helm: restarts=true\)$/,
  );
  equal(world.trainJob.status?.state, "Running");
  deepEqual(world.conditions, []);
  world.cluster.faults.length = 0;
  await world.live();
  equal(world.made, 2);
});

Deno.test("a suspension in the middle ends the restart", async () => {
  const world = await running();
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.edit({ suspend: true });
  world.isNodeDead = false;
  await world.live();
  equal(world.trainJob.status?.state, "Suspended");
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
  equal(world.living().length, 0);
  world.edit({ suspend: false });
  await world.live();
  equal(world.living().length, 1);
  deepEqual(world.events.map(({ reason }) => reason), ["Suspended", "Resumed", "Running"]);
});

/** Ends a restart by a suspension, while its pod is on a node that is dead, and lets the job go on. */
async function cutShort(): Promise<Cluster> {
  const world = await running();
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.edit({ suspend: true });
  await world.live();
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
  equal(world.trainJob.status?.state, "Suspended");
  world.now += 60_000;
  world.edit({ suspend: false });
  return world;
}

Deno.test("a job that goes on after a suspension that ended its restart has no pod beside those before", async () => {
  const world = await cutShort();
  for (let minute = 0; minute < 3; minute++) {
    await world.live();
    world.now += 60_000;
  }
  equal(world.made, 1, "the pod before still runs");
  equal(world.jobSet?.spec?.suspend, true);
  deepEqual(world.warnings.map(({ reason, message }) => `${reason}: ${message}`), [
    'RestartWaits: Restart 1 waits: pod "tj-node-0-0" on node "n1" do not go; is the node dead?',
  ]);
  world.cluster.edit(KINDS.job, JOB, { status: { succeeded: 1 } });
  const { uid } = world.job()?.metadata ?? {};
  world.isNodeDead = false;
  await world.live();
  equal(world.made, 2);
  notEqual(world.job()?.metadata?.uid, uid, "what has succeeded runs again");
  equal(world.jobSet?.spec?.suspend, false);
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], undefined);
  equal(world.trainJob.status?.state, "Running");
  equal(world.trainJob.status?.startTime, rfc3339(world.now), "the run began anew");
  deepEqual(world.restarted, []);
});

Deno.test("a job whose restart was ended goes on when killed at any write, and may be suspended again", async () => {
  const undisturbed = await cutShort();
  const from = undisturbed.cluster.writes.length;
  undisturbed.isNodeDead = false;
  await undisturbed.live();
  const { length } = undisturbed.cluster.writes.slice(from);
  for (const when of ["before", "after"] as const) {
    for (let n = 1; n <= length; n++) {
      const world = await cutShort();
      let count = 0;
      world.cluster.faults.push(({ verb }, phase) => {
        const isWrite = ["create", "patch", "delete"].includes(verb);
        return phase === when && isWrite && ++count === n ? new Error("killed") : undefined;
      });
      await world.live();
      world.edit({ suspend: true });
      await world.live();
      equal(world.made, 1);
      world.edit({ suspend: false });
      world.isNodeDead = false;
      await world.live();
      equal(world.made, 2, `killed ${when} write ${n}`);
      equal(world.living().length, 1);
    }
  }
});

Deno.test("a suspension long after a restart is one like any other", async () => {
  const world = await running();
  world.restart();
  await world.live();
  world.edit({ suspend: true });
  await world.reconcile();
  equal(world.jobSet?.spec?.suspend, true);
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], undefined);
});

Deno.test("a suspension before a restart has begun leaves it nothing to do", async () => {
  const world = await running();
  world.restart();
  world.edit({ suspend: true });
  await world.live();
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], undefined);
  deepEqual(world.restarted, []);
});

Deno.test("the deadline fires while a restart waits, and ends it", async () => {
  const world = await running({ activeDeadlineSeconds: 100 });
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.now += 100_001;
  await world.reconcile();
  equal(world.trainJob.status?.state, "Failed");
  await world.reconcile();
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
  deepEqual(world.restarted, []);
});

Deno.test("a stop ends a restart, and nothing is started again", async () => {
  const world = await running();
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.isStopping = true;
  world.isNodeDead = false;
  await world.live();
  equal(world.trainJob.status?.state, "Running");
  equal(world.living().length, 0);
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
  deepEqual(world.restarted, []);
});

Deno.test("a job that is deleted is not restarted", async () => {
  const world = await running();
  world.restart();
  world.cluster.edit(KINDS.trainJob, KEY, {
    metadata: { deletionTimestamp: rfc3339(world.now), finalizers: ["foregroundDeletion"] },
  });
  for (let round = 0; round < 5; round++) {
    await world.reconcile();
    world.turn();
  }
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], undefined);
});

Deno.test("a job that another cluster runs is left alone", async () => {
  const world = await running();
  world.cluster.edit(KINDS.trainJob, KEY, { spec: { managedBy: "kueue.x-k8s.io/multikueue" } });
  world.restart();
  const before = world.cluster.writes.length;
  await world.reconcile();
  equal(world.cluster.writes.length, before);
});

Deno.test("a JobSet that goes in the middle is made again after the last pod, and that is the restart", async () => {
  const world = await running();
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.cluster.remove(KINDS.jobSet, KEY);
  await world.live();
  equal(world.jobSet, undefined, "a pod of it still runs");
  world.cluster.remove(KINDS.pod, "ml/tj-node-0-0");
  await world.live();
  equal(world.made, 2);
  equal(world.restarted.length, 1);
});

Deno.test("a new version of Milepost that renders otherwise neither replaces the JobSet of a restart nor holds it up", async () => {
  for (const executor of ["builtin", "external"] as const) {
    const world = await running();
    world.executor = executor;
    const annotations = { [ANNOTATIONS.templateHash]: "of an earlier version" };
    const { metadata: { uid } } = world.cluster.edit<JobSet>(KINDS.jobSet, KEY, {
      metadata: { annotations },
    });
    world.restart();
    await world.live();
    equal(world.made, 2);
    equal(world.jobSet?.metadata.uid, uid);
    deepEqual(world.conditions, []);
  }
});

Deno.test("what failed before a restart is history", async () => {
  const world = await running();
  const failure = {
    headline: "pod x failed again and again",
    pod: "x",
    message: "m",
    reason: "Error",
    time: rfc3339(world.now),
  };
  world.cluster.edit(KINDS.trainJob, KEY, { status: { failure } });
  world.restart();
  await world.live();
  equal(world.trainJob.status?.failure?.headline, undefined);
  equal(world.trainJob.status?.failure?.pod, "x");
});

Deno.test("an annotation restarts no TrainJob, whoever wrote it", async () => {
  const world = await running();
  const { uid } = world.trainJob.metadata;
  const restart = { count: 1, reason: "Asked", message: "m", time: rfc3339(world.now) };
  for (const text of ["x", "{}", JSON.stringify(restart), JSON.stringify({ ...restart, uid })]) {
    world.cluster.edit(KINDS.trainJob, KEY, {
      metadata: { annotations: { [ANNOTATIONS.restart]: text } },
    });
    await world.live();
  }
  equal(world.made, 1);
  deepEqual(world.events, []);
});
