/** Puts the adapter together: what to record of a job, where, and how a trial is stopped. */
import { EVENT_REASONS } from "../../crds/names.ts";
import { type JobKinds, TRAINJOB } from "../../crds/job_kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { type AdapterOptions, createAdapter } from "../../katib/adapter/create_adapter.ts";
import type { Adapter } from "../../katib/adapter/adapter.ts";
import type { ObservationSink } from "../../katib/log/sink.ts";
import { createStopper } from "../../katib/stopping/stopper.ts";
import { followJobSets } from "../../katib/trials/job_set_checks.ts";
import { createNotifier } from "../../katib/trials/notifier.ts";
import { aboutJob, aboutTrial } from "../../trials/plan/notice.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import { createPlanCache } from "../../katib/trials/plan_cache.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Leadership } from "../../kube/leadership.ts";
import type { EventRecorder, EventSubject } from "../../kube/events.ts";
import { type Caches, INDEXES } from "./caches.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";
import { katibIsKeptOut } from "../../webhook/katib_webhook_watch.ts";
import type { Metrics } from "./metrics.ts";
import { aborted } from "../../kube/aborted.ts";

/** What it is made of. */
export interface TrialAdapterParts {
  readonly kinds: JobKinds;
  readonly client: KubeClient;
  readonly caches: Pick<
    Caches,
    "byKind" | "trials" | "jobSets" | "mutatingConfigurations"
  >;
  readonly clock: Clock;
  readonly configuration: Pick<
    ManagerConfiguration,
    "adoptCollectors" | "leaderElect" | "leaseDuration" | "renewDeadline"
  >;
  readonly events: Pick<EventRecorder, "record">;
  readonly leadership: Pick<Leadership, "leading">;
  readonly metrics: Pick<Metrics, "trialsStopped">;
  readonly sink: ObservationSink;
}

/** The adapter, to be had for a term, and what the controllers ask about trials. */
export interface TrialAdapter {
  /** The adapter of one term. */
  begin(): Adapter;
  /** The Trial whose metrics the job's pods push. Rejects where that is not known now. */
  trialOf(trainJob: TrainJob, signal: AbortSignal): Promise<string | undefined>;
  /** Says where JobSets do not fit their trials' templates, until `signal` aborts. */
  check(signal: AbortSignal): Promise<void>;
}

/** Longest time of one call to the log: clients wait for 5 s, the endpoint for 3. In milliseconds. */
const SINK_MS = 2_500;
/** Of one read of the API server on a miss of a cache, in milliseconds. */
const READ_MS = 2_000;
/** Of one write to it, in milliseconds. */
const WRITE_MS = 5_000;

/** What is begun ends before the next owner begins (design, decision 7). */
export function ownersDeadlineMs(
  { leaderElect, leaseDuration, renewDeadline }: TrialAdapterParts["configuration"],
  mostMs: number = SINK_MS,
): number {
  return leaderElect ? Math.min(mostMs, (leaseDuration - renewDeadline) * 0.8) : mostMs;
}

/** The Trial, or the job without one, as an event names it. */
function aboutPlan({ key, job }: ObservationPlan): EventSubject {
  return key.kind === "trial" ? aboutTrial({ metadata: key }) : aboutJob(job);
}

/** What people read about a log, as events. */
function tellers(events: Pick<EventRecorder, "record">) {
  const warn = (plan: ObservationPlan, reason: string, message: string) =>
    events.record(aboutPlan(plan), { type: "Warning", reason, message });
  return {
    onRefused: (plan, problem) =>
      warn(
        plan,
        EVENT_REASONS.observationRefused,
        `the observation log refuses a push: ${problem}`,
      ),
    onUnreported: (plan, names) =>
      warn(
        plan,
        EVENT_REASONS.ruleMetricMissing,
        `the job has ended, and never pushed what its rules name: ${names.join(", ")}`,
      ),
  } satisfies Partial<AdapterOptions>;
}

/** Creates {@link TrialAdapter}; it does nothing before a term begins. */
export function createTrialAdapter(parts: TrialAdapterParts): TrialAdapter {
  const { client, caches, clock, configuration, events, leadership, metrics, sink } = parts;
  const leading = () => leadership.leading;
  const adopted: ReadonlySet<string> = new Set(configuration.adoptCollectors);
  const none: ReadonlySet<string> = new Set();
  const notify = createNotifier(events);
  const plans = createPlanCache({
    jobs: caches.byKind,
    trials: caches.trials,
    client,
    clock,
    indexes: { name: INDEXES.name, job: INDEXES.job },
    settings: () => ({
      adopted: adopted.size > 0 && katibIsKeptOut(caches.mutatingConfigurations) ? adopted : none,
      namesOnly: sink.knowsTrialsByNameAlone,
      keepsPlainJobs: sink.keepsPlainJobs,
    }),
    notify,
    deadlineMs: READ_MS,
  });

  function begin(): Adapter {
    return createAdapter({
      sink,
      plans,
      stopper: createStopper({
        client,
        clock,
        events,
        leading,
        deadlineMs: ownersDeadlineMs(configuration, WRITE_MS),
      }),
      clock,
      leading,
      sinkMs: ownersDeadlineMs(configuration),
      onStop: (_, outcome) => {
        if (outcome === "stopped") metrics.trialsStopped.inc();
      },
      ...tellers(events),
    });
  }

  return {
    begin,
    trialOf: (trainJob, signal) => plans.trialOf(TRAINJOB, trainJob, signal),
    async check(signal) {
      const { jobSets, byKind: jobs } = caches;
      const stop = followJobSets({ kinds: parts.kinds, jobSets, jobs, plans, notify }, signal);
      await aborted(signal);
      stop();
    },
  };
}

/**
 * Deletes the logs of Trials that are gone from sinks that Katib knows nothing of; those in its DB manager
 * it deletes by itself. Answers how to stop that.
 */
export function followTrials(
  trials: Pick<Caches["trials"], "onChange">,
  sink: Pick<ObservationSink, "knowsTrialsByNameAlone">,
  drop: Adapter["drop"],
): () => void {
  return trials.onChange(({ type, object: { metadata } }) => {
    if (type !== "deleted" || sink.knowsTrialsByNameAlone) return;
    const { namespace = "", name = "", uid = "" } = metadata;
    drop({ kind: "trial", namespace, name, uid });
  });
}
