/** Scenario of the demo of trials: runs the example trial controller and watches its TrainJobs. */
import { KINDS } from "../../../crds/kinds.ts";
import { observationPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { JOB_CONDITIONS, JOB_KEYS } from "../../../crds/job_names.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { isConditionTrue } from "../../../platform/kube/conditions.ts";
import { createInformer } from "../../../platform/kube/watching/informer.ts";
import { installTrialCrd } from "../../standalone/prerequisites.ts";
import type { Standalone } from "../../standalone/standalone.ts";
import type { Display } from "../display.ts";
import type { Stage } from "../demo_stage.ts";
import { exampleRuntime, TRAIN_SECONDS, trainingProgram } from "../examples.ts";
import { type FollowedJobs, followJobs } from "../followed_jobs.ts";
import { controllerObjects, kindOf, TRIAL_CONTROLLER } from "./objects.ts";
import { type Seen, seenSchema, type TrialSummary, trialSummary } from "./results.ts";

const NAMESPACE = "default";
/** Longest page of an observation: more than the trials report. */
const PAGE = 5000;
const READ_MS = 10_000;
/** Six trials, two at a time. */
const ROUNDS = 3;

/** Reads the observation of a TrainJob. */
async function observe({ manager }: Standalone, name: string): Promise<Seen> {
  const path = `${observationPath(TRAINJOB, NAMESPACE, name)}?limit=${PAGE}`;
  const { text } = await manager.read(path, { deadlineMs: READ_MS });
  return seenSchema.parse(JSON.parse(text));
}

/** The training program, its runtime, and the trial controller, which makes all the rest. */
async function applyTrials({ client, server, status }: Standalone, seconds: number): Promise<void> {
  await installTrialCrd(client);
  await client.create(KINDS.configMap, trainingProgram(NAMESPACE));
  await client.create(KINDS.clusterTrainingRuntime, exampleRuntime());
  const env = { API_SERVER: server, OBSERVATIONS: status, [TRAIN_SECONDS]: String(seconds) };
  for (const object of controllerObjects(NAMESPACE, env)) {
    await client.create(kindOf(object), object);
  }
}

const ENDS = [JOB_CONDITIONS.complete, JOB_CONDITIONS.failed] as const;

/** The TrainJobs, and how the controller's Job ended. */
interface Followed {
  readonly trials: FollowedJobs;
  readonly ended: typeof ENDS[number] | undefined;
}

/** Follows TrainJobs and the controller's Job until that has ended or `signal` aborts. */
async function follow(
  { client }: Standalone,
  display: Display,
  signal: AbortSignal,
): Promise<Followed> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const shared = { client, namespace: NAMESPACE, clock: systemClock };
  let ended: Followed["ended"];
  const trials = followJobs({ display, clock: systemClock, signal: until });
  const jobs = createInformer({ ...shared, kind: KINDS.trainJob });
  jobs.onChange(({ object }) => trials.take(object));
  const fieldSelector = `metadata.name=${TRIAL_CONTROLLER}`;
  const controller = createInformer({ ...shared, kind: KINDS.job, fieldSelector });
  controller.onChange(({ object }) => {
    const { conditions } = object.status ?? {};
    ended = ENDS.find((type) => isConditionTrue(conditions, type));
    if (ended !== undefined) trials.settled().then(() => over.abort());
  });
  await Promise.all([jobs.run(until), controller.run(until)]);
  return { trials, ended };
}

/** The last line that the trial controller has written, for an error. */
async function lastWords(client: KubeClient): Promise<string> {
  const labelSelector = `${JOB_KEYS.jobName}=${TRIAL_CONTROLLER}`;
  const { items } = await client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector });
  const name = items.at(-1)?.metadata?.name;
  if (name === undefined) return "it has no pod";
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}/log?tailLines=1`;
  return (await client.read(path)).text.trim();
}

/** Runs the trials, shows them until the controller is done or `signal` aborts, and returns the results. */
export async function playTrials(
  { standalone, display, seconds, signal }: Stage,
): Promise<TrialSummary[]> {
  await applyTrials(standalone, seconds / ROUNDS);
  const { trials, ended } = await follow(standalone, display, signal);
  if (signal.aborted) return [];
  if (ended === "Failed") {
    throw new Error(`the trial controller has failed: ${await lastWords(standalone.client)}`);
  }
  const summaries: TrialSummary[] = [];
  const byName = new Intl.Collator("en", { numeric: true }).compare;
  const nameOf = (job: TrainJob) => job.metadata.name ?? "";
  const sorted = [...trials.all()].sort((a, b) => byName(nameOf(a.job), nameOf(b.job)));
  for (const { job, endedAt = systemClock.now() } of sorted) {
    const seen = await observe(standalone, nameOf(job));
    summaries.push(trialSummary(job, seen, endedAt));
  }
  return summaries;
}
