/** Scenario of the demo: three jobs, one of which is resumed after another has ended. */
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

/** Observations of the jobs so far. */
interface Seen {
  readonly views: Map<string, JobView>;
  readonly jobs: Map<string, TrainJob>;
  /** Time at which each job was first seen ended, in milliseconds. */
  readonly endedAt: Map<string, number>;
}

/** The last progress of a job is written up to a second after it has ended. */
function isSettled({ state, progressPercentage }: JobView): boolean {
  return state !== "Complete" || progressPercentage === 100;
}

/** How long to wait for the last progress once all have ended, in milliseconds. */
const SETTLE_MS = 3_000;

function allEnded({ endedAt }: Seen): boolean {
  return Object.keys(JOBS).every((job) => endedAt.has(job));
}

/** Takes a change in; returns whether it shows. */
function take(seen: Seen, object: TrainJob): boolean {
  const view = jobView(object);
  const isNew = !sameView(seen.views.get(view.job), view);
  seen.views.set(view.job, view);
  seen.jobs.set(view.job, object);
  if (hasEnded(view) && !seen.endedAt.has(view.job)) {
    seen.endedAt.set(view.job, systemClock.now());
  }
  return isNew;
}

async function applyExamples(client: KubeClient): Promise<void> {
  await client.create(KINDS.configMap, trainingProgram(NAMESPACE));
  await client.create(KINDS.clusterTrainingRuntime, exampleRuntime());
  for (const job of Object.keys(JOBS)) {
    await client.create(KINDS.trainJob, exampleJob(job, NAMESPACE));
  }
}

/** Applies the examples, shows them until all have ended or `signal` aborts, and returns the results. */
export async function playScenario(
  client: KubeClient,
  display: Display,
  signal: AbortSignal,
): Promise<JobSummary[]> {
  const over = new AbortController();
  const seen: Seen = { views: new Map(), jobs: new Map(), endedAt: new Map() };
  const inOrder = <T>(values: Map<string, T>) =>
    Object.keys(JOBS).flatMap((job) => values.get(job) ?? []);
  let resuming: Promise<void> | undefined;
  const until = AbortSignal.any([signal, over.signal]);
  const informer = createInformer<TrainJob>({
    client,
    kind: KINDS.trainJob,
    namespace: NAMESPACE,
    clock: systemClock,
  });
  informer.onChange(({ object }) => {
    if (take(seen, object)) display.changed(jobView(object), inOrder(seen.views));
    if (seen.endedAt.size > 0 && seen.views.get("paused")?.state === "Suspended") {
      resuming ??= resume(client, "paused").catch((error) => over.abort(error));
    }
    if (!allEnded(seen)) return;
    if (inOrder(seen.views).every(isSettled)) over.abort();
    else systemClock.sleep(SETTLE_MS, until).then(() => over.abort());
  });
  const watching = informer.run(until);
  await applyExamples(client);
  await watching;
  await resuming;
  const cause: unknown = over.signal.reason;
  if (cause instanceof Error && cause.name !== "AbortError") throw cause;
  return inOrder(seen.jobs).map((job) =>
    jobSummary(job, seen.endedAt.get(job.metadata.name ?? "") ?? systemClock.now())
  );
}
