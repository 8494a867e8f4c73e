/** Scenario of the demo: three jobs, one of which is resumed after another has ended. */
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { createInformer } from "../../platform/kube/watching/informer.ts";
import type { Stage } from "./demo_stage.ts";
import { exampleJob, exampleRuntime, trainingProgram } from "./examples.ts";
import { followJobs } from "./followed_jobs.ts";
import { type JobSummary, jobSummary } from "./job_summary.ts";

const NAMESPACE = "default";
/** The jobs in the order in which they are shown, each with how it must end. */
const JOBS: Readonly<Record<string, string>> = {
  softmax: "Complete",
  failing: "Failed",
  paused: "Complete",
};

/** Whether every job ended as it should. */
export function wentAsPlanned(summaries: readonly JobSummary[]): boolean {
  return Object.entries(JOBS).every(([job, state]) =>
    summaries.some((it) => it.job === job && it.state === state)
  );
}

async function resume(client: KubeClient, job: string): Promise<void> {
  const body = { spec: { suspend: false } };
  await client.patch(KINDS.trainJob, { namespace: NAMESPACE, name: job }, { type: "merge", body });
}

async function applyExamples(client: KubeClient, seconds: number): Promise<void> {
  await client.create(KINDS.configMap, trainingProgram(NAMESPACE));
  await client.create(KINDS.clusterTrainingRuntime, exampleRuntime());
  for (const job of Object.keys(JOBS)) {
    await client.create(KINDS.trainJob, exampleJob(job, NAMESPACE, seconds));
  }
}

/** Applies the examples, shows them until all have ended or `signal` aborts, and returns the results. */
export async function playScenario(
  { standalone: { client }, display, seconds, signal }: Stage,
): Promise<JobSummary[]> {
  const over = new AbortController();
  let resuming: Promise<void> | undefined;
  const until = AbortSignal.any([signal, over.signal]);
  const order = Object.keys(JOBS);
  const followed = followJobs({ display, clock: systemClock, order, signal: until });
  const informer = createInformer<TrainJob>({
    client,
    kind: KINDS.trainJob,
    namespace: NAMESPACE,
    clock: systemClock,
  });
  informer.onChange(({ object }) => {
    followed.take(object);
    const ended = followed.all().filter(({ endedAt }) => endedAt !== undefined).length;
    if (ended > 0 && followed.shown("paused")?.state === "Suspended") {
      resuming ??= resume(client, "paused").catch((error) => over.abort(error));
    }
    if (ended === order.length) followed.settled().then(() => over.abort());
  });
  const watching = informer.run(until);
  await applyExamples(client, seconds);
  await watching;
  await resuming;
  const cause: unknown = over.signal.reason;
  if (cause instanceof Error && cause.name !== "AbortError") throw cause;
  return followed.all().map(({ job, endedAt = systemClock.now() }) => jobSummary(job, endedAt));
}
