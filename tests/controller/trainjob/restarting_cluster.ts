/** Cluster in memory in which a TrainJob is restarted: an executor, a Job controller and a kubelet that do one thing at a time. */
import { equal } from "node:assert/strict";
import { JOBSET_API_VERSION, JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import type { TrainJobSpec } from "../../../crds/trainjob.ts";
import { controllerReference } from "../../../platform/kube/owner_references.ts";
import type { Job, Pod } from "../../../platform/kube/kubernetes.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import { runtime, trainJob } from "../builders.ts";
import { KEY, START, World } from "./world.ts";

/** The Job of its only replicated job. */
export const JOB = "ml/tj-node-0";
const RUNNING = { name: "node", ready: 1, succeeded: 0, failed: 0, active: 1, suspended: 0 };

/** The cluster. */
export class RestartingCluster extends World {
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

  /** Kills the manager before or after its n-th write from now on. Returns how many writes there were. */
  killAt(when: "before" | "after", n: number): () => number {
    let count = 0;
    this.cluster.faults.push(({ verb }, phase) => {
      const isWrite = ["create", "patch", "delete"].includes(verb);
      return phase === when && isWrite && ++count === n ? new Error("killed") : undefined;
    });
    return () => count;
  }

  get restarted(): string[] {
    return this.events.filter(({ reason }) => reason === "Restarted").map(({ message }) => message);
  }
}

/** A job that runs. */
export async function running(spec: Partial<TrainJobSpec> = {}): Promise<RestartingCluster> {
  const world = new RestartingCluster();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  const creationTimestamp = rfc3339(START);
  world.cluster.put(KINDS.trainJob, trainJob(spec, { creationTimestamp }));
  await world.live();
  equal(world.trainJob.status?.state, "Running");
  world.events.length = 0;
  return world;
}
