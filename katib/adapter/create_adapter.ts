/** The adapter: an actor for each log, whoever pushes; rules that are met become stops. For one term. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { Clock } from "../../kube/clock.ts";
import { createSemaphore } from "../../kube/semaphore.ts";
import { type ObservationSink, SinkError } from "../log/sink.ts";
import type { ObservationPlan, PlanDecision } from "../../trials/plan/observation_plan.ts";
import { createActors } from "./actors.ts";
import type {
  Adapter,
  Answer,
  ObservedPush,
  PlanSource,
  Stop,
  StopOutcome,
  Stopper,
} from "./adapter.ts";
import { createDeletions } from "./deletions.ts";
import { createLogActor, type LogActor } from "./log_actor.ts";
import { pageOf } from "./log_page.ts";
import { createOpenTrials } from "./open_trials.ts";
import { settledOrAborted } from "../../kube/aborted.ts";
import { createPlainLogs } from "./plain_logs.ts";
import { recordBestEffort } from "./best_effort.ts";
import { createStops } from "./stops.ts";

/** Options of {@link createAdapter}. */
export interface AdapterOptions {
  readonly sink: ObservationSink;
  readonly plans: PlanSource;
  readonly stopper: Stopper;
  readonly clock: Clock;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Whether this replica may still act as the owner (design, decision 7). */
  readonly leading: () => boolean;
  /** Longest time of one call to the sink, in milliseconds; shorter than what a lost lease leaves. */
  readonly sinkMs: number;
  /** A stop is done. */
  readonly onStop?: (stop: Stop, outcome: StopOutcome) => void;
  /** What a push brought will never be taken by the sink. */
  readonly onRefused?: (plan: ObservationPlan, problem: string) => void;
  /** A job has ended that never pushed these metrics, which rules name. */
  readonly onUnreported?: (plan: ObservationPlan, names: readonly string[]) => void;
  /** Logs that are remembered; the longest unused are replayed when they are needed. Default 20000. */
  readonly maxLogs?: number;
  /** As long as there are more than these, logs of jobs that have finished are let go. Default 500. */
  readonly maxFinishedLogs?: number;
}

/** Logs that are replayed at a time: each may be long, and after a change of owner all are asked for. */
const REPLAYS = 16;
/** When a client may come again, in milliseconds. */
const SOON_MS = 1_000;

const CLOSED: Answer = {
  retryAfterMs: SOON_MS,
  reason: "this replica does not own the observation log any more: try again soon",
};
const WHICH_POD: Answer = {
  retryAfterMs: SOON_MS,
  reason: "it is not known yet whether this pod is the trial's primary one: try again soon",
};

/** The stop that the log asks for, where its last rule was met. */
function stopOf({ plan, state }: LogActor): Stop | undefined {
  const verdict = state?.verdict;
  return state && verdict && { plan, verdict, observation: state.observation() };
}

/** Creates the adapter of one term. */
export function createAdapter(options: AdapterOptions): Adapter {
  const { sink, plans, stopper, clock, random = Math.random, leading, sinkMs } = options;
  const { onStop = () => {}, onRefused = () => {}, onUnreported = () => {} } = options;
  const closed = new AbortController();
  const listeners = new Set<(jobUid: string) => void>();
  const plainLogs = createPlainLogs();
  const deletions = createDeletions({ sink, clock, random, sinkMs });
  const replays = createSemaphore(REPLAYS);
  let versions = 0;

  const stops = createStops({
    stopper,
    clock,
    random,
    leading,
    currentStop: (jobUid) => {
      const actor = actors.get(jobUid);
      return actor && stopOf(actor);
    },
    onStop,
  });
  const actors = createActors({
    create(plan) {
      const actor = createLogActor(plan, {
        sink: {
          append: (key, rows, signal) => sink.append(key, rows, signal),
          read: (key, signal) => replays.run(() => sink.read(key, signal), signal),
        },
        clock,
        sinkMs,
        leading: () => leading() && !closed.signal.aborted,
        onChange: () => changed(actor),
        onRefused,
      });
      return actor;
    },
    isBusy: (actor) => !actor.idle || stops.pending(actor.plan.job.uid),
    max: options.maxLogs ?? 20_000,
  });

  const { maxFinishedLogs = 500 } = options;
  const openTrials = createOpenTrials({
    plans,
    actors,
    clock,
    random,
    decide,
    atOnce: REPLAYS,
    tidy: () => actors.tidy(maxFinishedLogs, ({ plan: { job } }) => !plans.isOpen(job)),
  });

  /** Sees to the stop that a log asks for; one that was seen to is not asked for again. */
  function decide(actor: LogActor): void {
    const stop = stopOf(actor);
    if (stop !== undefined && plans.isOpen(stop.plan.job)) stops.decided(stop);
  }

  /** Something is new in a log. */
  function changed(actor: LogActor): number {
    decide(actor);
    for (const listener of listeners) listener(actor.plan.job.uid);
    return ++versions;
  }

  /** Whether its log is one of the short ones that are kept here. */
  const isShort = ({ isPlain }: ObservationPlan) => isPlain === true && !sink.isShared;

  function recordShortly(plan: ObservationPlan, push: ObservedPush): Answer {
    const answer = plainLogs.accept(plan, push);
    for (const listener of listeners) listener(plan.job.uid);
    return answer;
  }

  /** What a pod is told whose pushes are not recorded: to stop, where its trial is to. */
  function bystander({ job }: ObservationPlan): Answer | undefined {
    const control = actors.get(job.uid)?.control;
    return control && { ok: true, control };
  }

  function hand(
    plan: ObservationPlan,
    isPrimary: boolean | undefined,
    push: ObservedPush,
    signal: AbortSignal,
  ): Answer | undefined | Promise<Answer> {
    if (closed.signal.aborted) return CLOSED;
    if (isPrimary === undefined) return plan.isPlain ? undefined : WHICH_POD;
    if (!isPrimary) return bystander(plan);
    if (isShort(plan)) return recordShortly(plan, push);
    const actor = actors.of(plan);
    return plan.isPlain ? recordBestEffort(actor, push, signal) : actor.accept(push, signal);
  }

  function take(plan: PlanDecision, push: ObservedPush, signal: AbortSignal) {
    if (plan.kind === "unknown") return { retryAfterMs: SOON_MS, reason: plan.why };
    if (plan.kind !== "plan") return undefined;
    const isPrimary = plans.isPrimary(plan, push.pod, signal);
    return isPrimary instanceof Promise
      ? isPrimary.then((it) => hand(plan, it, push, signal))
      : hand(plan, isPrimary, push, signal);
  }

  async function end(plan: ObservationPlan, signal: AbortSignal): Promise<void> {
    const actor = actors.of(plan);
    await settledOrAborted(actor.drained(), signal);
    const loaded = actor.load();
    await settledOrAborted(loaded, signal);
    decide(actor);
    await settledOrAborted(stops.hurry(plan.job.uid), signal);
    if (signal.aborted) return;
    const { verdict, unreported } = await loaded;
    if (verdict === undefined && unreported().length > 0) onUnreported(plan, unreported());
  }

  /** What is to be waited for at the end of a job; one that asks for nothing waits for nothing. */
  function ending(plan: PlanDecision, signal: AbortSignal): Promise<void> | undefined {
    if (plan.kind !== "plan" || plan.isPlain) return undefined;
    const isInHand = actors.get(plan.job.uid)?.idle === false;
    return isInHand || plan.rules.length > 0 ? end(plan, signal) : undefined;
  }

  /** Undefined where nothing is recorded of the job. */
  async function planned(job: JobRef, signal: AbortSignal) {
    const plan = await plans.planFor(job, signal);
    if (plan.kind === "unknown") throw new SinkError("unavailable", plan.why);
    return plan.kind === "plan" ? plan : undefined;
  }

  return {
    accept(push, signal) {
      if (closed.signal.aborted) return CLOSED;
      const plan = plans.planFor(push.job, signal);
      return plan instanceof Promise
        ? plan.then((it) => take(it, push, signal))
        : take(plan, push, signal);
    },
    settle(job, signal) {
      const plan = plans.planFor(job, signal);
      return plan instanceof Promise ? plan.then((it) => ending(it, signal)) : ending(plan, signal);
    },
    forget(job, asked = false) {
      const { namespace, name, uid } = job;
      openTrials.forget(job.uid);
      plainLogs.forget(job.uid);
      stops.forget(job.uid);
      const actor = actors.remove(job.uid);
      const isOwn = actor === undefined
        ? sink.keepsPlainJobs || asked
        : actor.plan.key.kind === "job";
      if (isOwn) deletions.drop({ kind: "job", namespace, name, uid });
    },
    drop: deletions.drop,
    open: () => plans.open().length,
    async run(signal) {
      await openTrials.run(signal);
      closed.abort();
      await stops.close();
      await Promise.all(actors.all().map((actor) => actor.drained()));
      await deletions.close();
    },
    async snapshotOf(job, signal) {
      const plan = await planned(job, signal);
      if (plan === undefined) return undefined;
      if (isShort(plan)) {
        return { plan, ...plainLogs.snapshotOf(job.uid) ?? { version: 0, metrics: [], rows: 0 } };
      }
      const actor = actors.of(plan);
      const state = await actor.load();
      const { version, pod: primaryPod } = actor;
      return { plan, version, ...state.summary(), verdict: state.verdict, primaryPod };
    },
    async pageOf(job, query, signal) {
      const plan = await planned(job, signal);
      if (plan === undefined) return undefined;
      return isShort(plan)
        ? plainLogs.pageOf(job.uid, query)
        : pageOf(await sink.read(plan.key, signal, query.since), query);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
