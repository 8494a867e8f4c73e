/** Benchmark of the time from a push to the progress on the TrainJob, without other load. */
import { KINDS } from "../crds/kinds.ts";
import { statusPath } from "../crds/job_kind.ts";
import { TRAINJOB } from "../crds/job_kinds.ts";
import { CA_KEY, childNames, LABELS, PUSH_AUDIENCE } from "../crds/names.ts";
import type { TrainJob } from "../crds/trainjob.ts";
import type { KubeClient } from "../platform/kube/client.ts";
import { createClient } from "../platform/kube/connection/connected_client.ts";
import { createInformer } from "../platform/kube/watching/informer.ts";
import { loadKubeconfig } from "../platform/kube/connection/kubeconfig.ts";
import type { StandaloneProcess } from "../tests/support/milepost_process.ts";
import { requestToken, shellRuntime, trainJob, trainJobThat } from "../tests/support/standalone.ts";
import { until } from "../tests/support/until.ts";
import { type Benchmark, quantile } from "./result.ts";
import { inFolder, withStandaloneIn } from "./standalone_folder.ts";

/** The job. */
export const JOB = { namespace: "default", name: "pushed" };
const ROUNDS = 20;
/** Longer than the interval between two writes of a job's progress: each push finds it at rest. */
const REST_MS = 1_200;
/** Returns the time at which a watch first showed the TrainJob as `isSo` wants it. */
type Sight = (isSo: (job: TrainJob) => boolean) => Promise<number>;

/** Runs `work` with a watch on the TrainJob. */
async function watching<T>(client: KubeClient, work: (seen: Sight) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const { namespace } = JOB;
  const jobs = createInformer<TrainJob>({ client, kind: KINDS.trainJob, namespace });
  const running = jobs.run(stop.signal);
  try {
    await jobs.whenSynced();
    return await work((isSo) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error("not seen within 10 s")), 10_000);
        const end = jobs.onChange(({ object }) => {
          if (!isSo(object)) return;
          clearTimeout(timer);
          queueMicrotask(() => end());
          resolve(performance.now());
        });
      })
    );
  } finally {
    stop.abort();
    await running;
  }
}

/** A TrainJob with a pod that runs and does nothing, and a token of that pod. */
export async function runningJob(client: KubeClient): Promise<string> {
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
  await client.create(KINDS.trainJob, trainJob(JOB.name, "idle"));
  const isRunning = (job: TrainJob) => job.status?.state === "Running";
  await trainJobThat(client, JOB.name, "runs", isRunning);
  const labelSelector = `${LABELS.trainJobName}=${JOB.name}`;
  const pod = await until("the pod", async () => {
    const { items } = await client.list(KINDS.pod, { namespace: JOB.namespace, labelSelector });
    return items[0];
  });
  const { name = "", uid = "" } = pod.metadata ?? {};
  const account = { namespace: JOB.namespace, name: "default" };
  return await requestToken(client, account, { audience: PUSH_AUDIENCE, pod: { name, uid } });
}

/** A function that pushes a percentage as a training program does. */
export async function pusher(client: KubeClient, { ready }: StandaloneProcess, token: string) {
  const name = childNames.tlsConfig(JOB.name);
  const config = await client.get(KINDS.configMap, { namespace: JOB.namespace, name });
  const http = Deno.createHttpClient({ caCerts: [config.data?.[CA_KEY] ?? ""] });
  return {
    async push(progressPercentage: number, metrics: { name: string; value: string }[] = []) {
      const lastUpdatedTime = new Date().toISOString();
      const answer = await fetch(
        `${ready.status}${statusPath(TRAINJOB, JOB.namespace, JOB.name)}`,
        {
          method: "POST",
          client: http,
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ trainerStatus: { progressPercentage, lastUpdatedTime, metrics } }),
        },
      );
      const text = await answer.text();
      if (!answer.ok) throw new Error(`the push got ${answer.status}: ${text}`);
    },
    [Symbol.dispose]: () => http.close(),
  };
}

async function timed(seen: Promise<number>, work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  const [end] = await Promise.all([seen, work()]);
  return end - began;
}

async function measure(standalone: StandaloneProcess, say: (text: string) => void) {
  const client = createClient({ connection: loadKubeconfig(standalone.ready.kubeconfig) });
  const pushes: number[] = [];
  const patches: number[] = [];
  try {
    const token = await runningJob(client);
    using training = await pusher(client, standalone, token);
    await watching(client, async (seen) => {
      for (let round = 0; round <= ROUNDS; round++) {
        say(`round ${round} of ${ROUNDS}`);
        await new Promise((resolve) => setTimeout(resolve, REST_MS));
        const isPushed = (job: TrainJob) => job.status?.trainerStatus?.progressPercentage === round;
        const pushed = await timed(seen(isPushed), () => training.push(round));
        const estimatedRemainingSeconds = 1_000 + round;
        const isPatched = (job: TrainJob) =>
          job.status?.trainerStatus?.estimatedRemainingSeconds === estimatedRemainingSeconds;
        const body = { status: { trainerStatus: { estimatedRemainingSeconds } } };
        const patched = await timed(
          seen(isPatched),
          () =>
            client.patch(KINDS.trainJob, JOB, { type: "merge", body }, { subresource: "status" }),
        );
        if (round === 0) continue; // Connections are made.
        pushes.push(pushed);
        patches.push(patched);
      }
    });
    await client.delete(KINDS.trainJob, JOB);
  } finally {
    client.close();
  }
  return { pushes, patches };
}

export const push: Benchmark = {
  about: "a push at rest, to the status that a watch shows",
  run: (say) =>
    inFolder((folder) =>
      withStandaloneIn(folder, async (standalone) => {
        const { pushes, patches } = await measure(standalone, say);
        const parts: [string, number][] = [["median", 0.5], ["p95", 0.95]];
        return parts.map(([name, part]) => ({
          name: `push to visible status, ${name}`,
          value: quantile(pushes, part),
          unit: "ms",
          goal: { is: "below" as const, limit: 50 },
          beside: { name: "bare PATCH of status", value: quantile(patches, part) },
        }));
      })
    ),
};
