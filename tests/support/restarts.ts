/** Restarts of TrainJobs from outside: a job to restart, its pods as they come and go, and the owner's write. */
import assert from "node:assert/strict";
import { restartOf } from "../../crds/job_state.ts";
import { JOB_KEYS } from "../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS, STEPS } from "../../crds/names.ts";
import { isEndedPhase } from "../../crds/pod_names.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { shellRuntime } from "./standalone.ts";
import { until } from "./until.ts";

const inDefault = (name: string) => ({ namespace: "default", name });
const replicatedJobOf = ({ metadata }: Pod) =>
  metadata?.labels?.[JOBSET_KEYS.replicatedJobName] ?? "";

/** Two nodes after an initializer: the second one is done at once, the first takes its time to end. */
export function halfDoneRuntime(): ClusterTrainingRuntime {
  const node = '[ "$JOB_COMPLETION_INDEX" = 1 ] && exit 0; ' +
    "trap 'sleep 2; exit 3' TERM; sleep 600 & wait; wait";
  const made = shellRuntime("half-done", node);
  const [trainer] = made.spec?.template.spec?.replicatedJobs ?? [];
  assert.ok(trainer && made.spec);
  const initializer = structuredClone(trainer);
  initializer.name = STEPS.datasetInitializer;
  initializer.template.metadata = { labels: { [LABELS.ancestorStep]: STEPS.datasetInitializer } };
  const [container] = initializer.template.spec?.template?.spec?.containers ?? [];
  assert.ok(container);
  Object.assign(container, { name: STEPS.datasetInitializer, command: ["true"] });
  const dependsOn = [{ name: STEPS.datasetInitializer, status: "Complete" as const }];
  const replicatedJobs = [initializer, { ...trainer, dependsOn }];
  return KINDS.clusterTrainingRuntime.parse({
    ...made,
    spec: { mlPolicy: { numNodes: 2 }, template: { spec: { replicatedJobs } } },
  });
}

/** The pods of a job in the order in which the API server tells of them, by generation. */
export class SeenPods {
  generation = 0;
  /** Pods that came beside others of a generation before. */
  readonly beside: string[] = [];
  /** When the first pod of a generation came, and the pods of each. */
  readonly came: Record<number, number> = {};
  readonly made: Record<number, Pod[]> = {};
  readonly #living = new Map<string, number>();
  readonly #known = new Map<string, number>();

  take(type: string, pod: Pod): void {
    const { uid = "", name } = pod.metadata ?? {};
    const generation = this.#known.get(uid) ?? this.generation;
    if (!this.#known.has(uid)) {
      const others = [...this.#living.values()].filter((it) => it < generation);
      if (others.length > 0) this.beside.push(`${name} of ${generation} beside ${others}`);
      this.came[generation] ??= Date.now();
      (this.made[generation] ??= []).push(pod);
      this.#known.set(uid, generation);
    }
    if (type === "deleted" || isEndedPhase(pod.status?.phase)) this.#living.delete(uid);
    else this.#living.set(uid, generation);
  }

  places(generation: number): string[] {
    return (this.made[generation] ?? []).map((pod) =>
      `${replicatedJobOf(pod)} ${pod.metadata?.labels?.[JOB_KEYS.completionIndex]}`
    ).toSorted();
  }
}

/** Watches the pods of a job for as long as `work` takes. */
export async function whileWatching(
  client: KubeClient,
  job: string,
  work: (seen: SeenPods) => Promise<void>,
): Promise<void> {
  const seen = new SeenPods();
  const stop = new AbortController();
  const labelSelector = `${LABELS.trainJobName}=${job}`;
  const where = { namespace: "default", labelSelector };
  const { items, resourceVersion = "" } = await client.list(KINDS.pod, where);
  for (const pod of items) seen.take("added", pod);
  const watching = (async () => {
    const changes = client.watch(KINDS.pod, { ...where, resourceVersion, signal: stop.signal });
    for await (const change of changes) {
      if ("object" in change) seen.take(change.type, change.object);
    }
  })().catch((error) => {
    if (!stop.signal.aborted) throw error;
  });
  try {
    await work(seen);
  } finally {
    stop.abort();
    await watching;
  }
}

/** Stores a restart as the owner does, and returns when. */
export async function storeRestart(
  client: KubeClient,
  name: string,
  count: number,
): Promise<number> {
  const now = Date.now();
  const restart = {
    count,
    reason: "Asked",
    message: "a test asked",
    time: rfc3339(now),
    endTime: null,
  };
  await client.patch(
    KINDS.trainJob,
    inDefault(name),
    { type: "merge", body: { status: { restart } } },
    { subresource: "status" },
  );
  return now;
}

/** Reports whether that restart is over. */
export const isOver = (job: TrainJob, count: number) =>
  restartOf(job)?.count === count && restartOf(job)?.endTime !== undefined;

/** Waits until one of the two nodes runs, and the other has succeeded and was counted. */
export async function halfDone(client: KubeClient, name: string): Promise<void> {
  await until(`${name} is half done`, async () => {
    const { status } = await client.get(KINDS.job, inDefault(`${name}-node-0`));
    return status?.succeeded === 1 && status.ready === 1;
  }, { timeoutMs: 60_000 });
}
