/** What happens in the demo: three jobs, one of which is resumed once another has ended. */
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { KubeClient } from "../../kube/client.ts";
import { systemClock } from "../../kube/clock.ts";
import { createInformer } from "../../kube/informer.ts";
import type { Display } from "./display.ts";
import { exampleJob, exampleRuntime, trainingProgram } from "./examples.ts";
import {
  hasEnded,
  type JobSummary,
  jobSummary,
  type JobView,
  jobView,
  sameView,
} from "./job_view.ts";

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

/** Applies the examples, shows them until all have ended or `signal` aborts, and tells how they went. */
export async function playScenario(
  client: KubeClient,
  display: Display,
  signal: AbortSignal,
): Promise<JobSummary[]> {
  const done = new AbortController();
  const informer = createInformer<TrainJob>({
    client,
    kind: KINDS.trainJob,
    namespace: NAMESPACE,
    clock: systemClock,
  });
  const views = new Map<string, JobView>();
  const summaries = new Map<string, JobSummary>();
  let resumed = false;
  informer.onChange(({ object }) => {
    const view = jobView(object);
    if (!sameView(views.get(view.job), view)) {
      views.set(view.job, view);
      const inOrder = Object.keys(JOBS).flatMap((job) => views.get(job) ?? []);
      display.changed(view, inOrder);
    }
    if (hasEnded(view) && !summaries.has(view.job)) {
      summaries.set(view.job, jobSummary(object, systemClock.now()));
    }
    const oneHasEnded = [...views.values()].some(hasEnded);
    if (oneHasEnded && !resumed && views.get("paused")?.state === "Suspended") {
      resumed = true;
      resume(client, "paused").catch((error) => done.abort(error));
    }
    if (summaries.size === Object.keys(JOBS).length) done.abort();
  });
  const until = AbortSignal.any([signal, done.signal]);
  const watching = informer.run(until);
  await client.create(KINDS.configMap, await trainingProgram(NAMESPACE));
  await client.create(KINDS.clusterTrainingRuntime, await exampleRuntime());
  for (const job of Object.keys(JOBS)) {
    await client.create(KINDS.trainJob, await exampleJob(job, NAMESPACE));
  }
  await watching;
  if (done.signal.reason instanceof Error && done.signal.reason.name !== "AbortError") {
    throw done.signal.reason;
  }
  return Object.keys(JOBS).flatMap((job) => summaries.get(job) ?? []);
}
