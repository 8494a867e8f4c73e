/** Recording of trials: its parts for each term, over caches that outlive terms. */
import type { AnyJob } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import type { Trial } from "../../crds/trial.ts";
import { aborted } from "../../platform/base/aborted.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import type { Leadership } from "../../platform/kube/leading/leadership.ts";
import { aboutLog } from "../../trials/plan/notice.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { ObservationSink, SinkTraits } from "../../owner/observations/sink.ts";
import { createStopper } from "../stopping/stopper.ts";
import { TRIALS_BY } from "./cached_trial.ts";
import { followJobSets, type JobSetChecks } from "./job_set_checks.ts";
import { createNotifier } from "./notifier.ts";
import { createPlanCache, type PlanCacheOptions } from "./plan_cache.ts";
import type { Observations } from "../../owner/observations/observations.ts";
import type { RecordingParts } from "../../owner/term.ts";
import { removeLeftLogs } from "./left_logs.ts";

/** Longest time of one call to the log, in milliseconds: clients wait for 5 s, the endpoint for 3. */
export const SINK_MS = 2_500;
/** Longest time of one read of the API server on a miss of a cache, in milliseconds. */
const READ_MS = 2_000;
/** Longest time of one write to it, in milliseconds. */
const WRITE_MS = 5_000;

/** Returns callbacks that record events about a log. */
function logEvents(events: Pick<EventRecorder, "record">) {
  const warn = ({ key, job }: ObservationPlan, reason: string, message: string) =>
    events.record(aboutLog(key, job), { type: "Warning", reason, message });
  return {
    onRefused: (plan, problem) =>
      warn(
        plan,
        EVENT_REASONS.observationRefused,
        `the observation log refused a push: ${problem}`,
      ),
    onUnreported: (plan, names, pushed) =>
      warn(
        plan,
        EVENT_REASONS.ruleMetricMissing,
        pushed === undefined
          ? `the job has ended without pushing metrics that its rules name: ${names.join(", ")}`
          : `no pod has pushed ${names.join(", ")} so far, as rules name it; pushed are ${
            pushed.join(", ")
          }`,
      ),
  } satisfies Partial<RecordingParts>;
}

/** Creates the parts by which the owner records and stops trials, and answers about Trials. */
export function createTrialRecording(options: {
  readonly kinds: JobKinds;
  readonly client: KubeClient;
  /** The client of the leader, whose writes are fenced; it stops trials. */
  readonly leaderClient: KubeClient;
  readonly jobs: PlanCacheOptions["jobs"] & JobSetChecks["jobs"];
  readonly trials: PlanCacheOptions["trials"] & Pick<Informer<Trial>, "onChange">;
  readonly jobSets: JobSetChecks["jobSets"] & PlanCacheOptions["jobSets"];
  readonly clock: Clock;
  /** Kinds of collectors whose trials are adopted now. */
  readonly adopted: () => ReadonlySet<string>;
  readonly events: Pick<EventRecorder, "record">;
  readonly leadership: Pick<Leadership, "deadlineMs">;
  readonly sink: ObservationSink;
}) {
  const { client, jobs, trials, clock, events, leadership, sink } = options;
  const notify = createNotifier(events);
  const plans = createPlanCache({
    jobs,
    trials,
    jobSets: options.jobSets,
    client,
    clock,
    settings() {
      const { knowsTrialsByNameAlone: namesOnly, keepsPlainJobs, keepsRuns } = sink.traits;
      return { adopted: options.adopted(), namesOnly, keepsPlainJobs, keepsSteps: keepsRuns };
    },
    notify,
    deadlineMs: READ_MS,
  });
  return {
    /** Returns those of a term. */
    parts: (): RecordingParts => ({
      sink,
      plans,
      stopper: createStopper({
        client: options.leaderClient,
        clock,
        events,
        deadlineMs: leadership.deadlineMs(WRITE_MS),
      }),
      sinkMs: leadership.deadlineMs(SINK_MS),
      ...logEvents(events),
      async dropLogs(drop, signal) {
        const stop = followTrials(trials, sink, drop);
        const { leaderClient: client } = options;
        const left = { sink, trials, client, clock, random: Math.random, drop };
        try {
          await removeLeftLogs({ ...left, deadlineMs: READ_MS }, signal);
          await aborted(signal);
        } finally {
          stop();
        }
      },
    }),
    /** Resolves with the name of the Trial whose metrics the job's pods push. Rejects if not known now. */
    async trialOf(job: AnyJob, signal: AbortSignal): Promise<string | undefined> {
      const kind = options.kinds.ofOwner(job);
      return kind && await plans.trialOf(kind, job, signal);
    },
    /** Reports JobSets that do not fit their trials' templates, until `signal` aborts. */
    async check(signal: AbortSignal): Promise<void> {
      const { kinds, jobSets } = options;
      const stop = followJobSets({ kinds, jobSets, jobs, plans, notify }, signal);
      await aborted(signal);
      stop();
    },
  };
}

/**
 * Ends the logs of Trials when their deletion begins, and again when they are gone. A sink that knows trials
 * only by name keeps the log if another Trial has the name. Returns a function that stops this.
 */
export function followTrials(
  trials: Pick<Informer<Trial>, "onChange" | "byIndex">,
  { traits }: { readonly traits: Pick<SinkTraits, "knowsTrialsByNameAlone"> },
  drop: Observations["drop"],
): () => void {
  return trials.onChange(({ type, object: { metadata }, old }) => {
    const begins = metadata.deletionTimestamp !== undefined &&
      old?.metadata.deletionTimestamp === undefined;
    if (type !== "deleted" && !begins) return;
    const { namespace = "", name = "", uid = "" } = metadata;
    const hasNamesake = () =>
      trials.byIndex(TRIALS_BY.name, name).some((it) => it.metadata.uid !== uid);
    const isWanted = () => !traits.knowsTrialsByNameAlone || !hasNamesake();
    drop({ kind: "trial", namespace, name, uid }, isWanted);
  });
}
