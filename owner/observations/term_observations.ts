/** Observations of one term: an actor for each log, and a stop for each trial whose rules were met. */
import type { JobRef } from "../../crds/job_kind.ts";
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import { continueWith } from "../../platform/base/continue_with.ts";
import { createListeners } from "../../platform/base/listeners.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import type { ObservationSink } from "./sink.ts";
import {
  type LogKey,
  logKeyText,
  type ObservationRow,
} from "../../trials/recording/observation_row.ts";
import type { ObservationPlan, PlanDecision } from "../../trials/plan/observation_plan.ts";
import { createActors } from "./actors.ts";
import type { Observations, PlanSource, Stop } from "./observations.ts";
import type { PushAnswer } from "../../crds/wire/push_answer.ts";
import type { Push } from "../../crds/wire/push.ts";
import { isPrimaryContainer } from "../../trials/mapping/outcome.ts";
import { recordBestEffort } from "./best_effort.ts";
import { createDeletions } from "./log_deletions.ts";
import { createLogActor, type LogActor, NOT_OWNER } from "./log_actor.ts";
import { createObservationReader } from "./observation_reader.ts";
import { createOpenTrials } from "./open_trials.ts";
import { createPlainLogs } from "./plain_logs.ts";
import { settledOrAborted } from "../../platform/base/aborted.ts";
import { createTermSearches, type SearchParts } from "../searches/term_searches.ts";
import { createStops, type StopsOptions } from "./stops.ts";
import { createStoredStops, refreshedStop } from "./stored_stops.ts";
import { controlOf, decidedByRules } from "./stop_decision.ts";

/** Options of {@link createObservations}. */
export interface ObservationsOptions
  extends
    Pick<StopsOptions, "stopper" | "clock" | "leading">,
    Partial<Pick<StopsOptions, "random" | "onStop">> {
  readonly sink: ObservationSink;
  readonly plans: PlanSource;
  /** Deadline of one call to the sink, in milliseconds; shorter than what a lost lease leaves. */
  readonly sinkMs: number;
  /** Drops the logs of Trials that go, or went before, until the signal aborts. Default: none. */
  readonly dropLogs?: (drop: Observations["drop"], signal: AbortSignal) => Promise<void>;
  /** Called for a push that the sink will never take. */
  readonly onRefused?: (plan: ObservationPlan, problem: string) => void;
  /** Called for a job that has ended and never pushed these metrics, which rules name; before that with what is pushed instead. */
  readonly onUnreported?: (
    plan: ObservationPlan,
    names: readonly string[],
    pushed?: readonly string[],
  ) => void;
  /** The searches whose pruners are asked. Default: none. */
  readonly searches?: SearchParts | undefined;
  /** Most logs in memory; the least recently used ones are replayed when needed. Default 20000. */
  readonly maxLogs?: number;
  /** Most logs in memory if some are of finished jobs, which are evicted. Default 500. */
  readonly maxFinishedLogs?: number;
}

/** Logs that are replayed at a time: each may be long, and a new owner needs all of them. */
const REPLAYS = 16;
/** Most rows of a trial's objective that are read for its search, and logs at a time: of all searches, since rows take memory. */
const MAX_ROWS_OF_TRIAL = 50_000;
const SEARCH_READS = 4;
/** Most logs that are remembered as ended: those of Trials that were deleted a moment ago. */
const ENDED = 10_000;

/** Returns the answer to a push of a trial that is being deleted. */
const gone = (why: string): PushAnswer => ({
  gone: true,
  ...comeAgain(`nothing more is recorded: ${why}`),
});

const UNKNOWN_POD = comeAgain(
  "it is not known yet whether this is the primary pod of the trial: try again soon",
);

const ENDED_TRIAL: PushAnswer = {
  ok: true,
  warnings: ["the trial has ended: nothing more is recorded"],
};

/** Returns the stop that a log requires, if its last rule was met. */
function stopOf({ plan, state }: LogActor): Stop | undefined {
  const verdict = state?.verdict;
  const decision = verdict && decidedByRules(plan.job.kind, verdict, plan.graceMs);
  return decision && { plan, decision, observation: state?.observation() };
}

/** Creates the observations of one term. */
export function createObservations(options: ObservationsOptions): Observations {
  const { sink, plans, stopper, clock, random = Math.random, leading, sinkMs } = options;
  const { onStop = () => {}, onRefused = () => {}, onUnreported = () => {} } = options;
  const closed = new AbortController();
  const changes = createListeners<string>();
  const plainLogs = createPlainLogs();
  const deletions = createDeletions({ sink, clock, random, sinkMs });
  const endedLogs = createBoundedCache<true>(ENDED);
  const replays = createSemaphore(REPLAYS);
  const searchReads = createSemaphore(SEARCH_READS);

  const stops = createStops({
    stopper,
    clock,
    random,
    leading,
    refreshed: (stop, signal) =>
      refreshedStop({ plans, actors, othersWrite: !sink.traits.keepsRuns }, stop, signal),
    isSuspended: (job) => plans.isSuspended(job),
    onStop,
  });
  const actors = createActors({
    create(plan) {
      const actor = createLogActor(plan, {
        sink: {
          append: (key, rows, signal) => sink.append(key, rows, signal),
          read: (key, signal) => replays.run(() => sink.read(key, signal), signal),
          get traits() {
            return sink.traits;
          },
        },
        presentRun: (plan) => plans.presentRun(plan),
        clock,
        sinkMs,
        leading: () => leading() && !closed.signal.aborted,
        onChange() {
          scheduleStop(actor);
          changes.notify(actor.plan.job.uid);
        },
        onTaken: (...taken) => searches?.taken(...taken),
        onUnknown: (job) => searches?.readAgain(job),
        onRefused,
        onUnreported,
      });
      return actor;
    },
    isBusy: (actor) => !actor.idle || stops.pending(actor.plan.job.uid),
    max: options.maxLogs ?? 20_000,
  });
  const storedStops = createStoredStops({ plans, actors, stops, stopper, clock });
  /** Logs of plain jobs are kept apart if the sink keeps its logs in memory, too. */
  const isInPlainLogs = ({ isPlain }: ObservationPlan) => isPlain === true && !sink.traits.isShared;
  const reader = createObservationReader({ plans, actors, plainLogs, isInPlainLogs, sink });

  const { maxFinishedLogs = 500 } = options;
  const openTrials = createOpenTrials({
    plans,
    actors,
    clock,
    random,
    onRead: scheduleStop,
    atOnce: REPLAYS,
    evict: () => actors.evict(maxFinishedLogs, ({ plan: { job } }) => !plans.isOpen(job)),
  });

  /** Returns rows of a metric of a job, from the sink: of a longer log the first ones. */
  async function readMetric(job: JobRef, metric: string): Promise<readonly ObservationRow[]> {
    const bounds = {
      clock,
      deadlineMs: sinkMs,
      signal: closed.signal,
      onDeadline: () => new Error(`the log of a trial could not be read within ${sinkMs} ms`),
    };
    const read = async (signal: AbortSignal) => {
      const plan = await plans.planFor(job, signal);
      if (plan.kind === "unknown") throw new Error(plan.why);
      if (plan.kind !== "plan") return [];
      return await sink.read(plan.key, signal, { metric, limit: MAX_ROWS_OF_TRIAL });
    };
    // The deadline begins when the read has a place, which other searches may have for long.
    return await searchReads.run(() => withDeadline(bounds, read), closed.signal);
  }

  const searches = options.searches && createTermSearches({
    ...options.searches,
    plans,
    stops,
    readLog: readMetric,
    keepsRuns: () => sink.traits.keepsRuns,
    clock,
    random,
  });

  /** Schedules the stop that a log requires, once. */
  function scheduleStop(actor: LogActor): void {
    const stop = stopOf(actor);
    if (stop !== undefined && plans.isOpen(stop.plan.job)) stops.schedule(stop);
  }

  function recordInMemory(plan: ObservationPlan, push: Push): PushAnswer {
    const answer = plainLogs.accept(plan, push);
    changes.notify(plan.job.uid);
    return answer;
  }

  /** Returns the answer to the pushes of a job whose stop is being written, or was. */
  function answerStopped(job: JobRef): PushAnswer | undefined {
    const decision = stops.ending(job.uid);
    const control = decision === undefined ? plans.stopShown(job) : controlOf(decision);
    return control && { ok: true, control };
  }

  /**
   * Answers a pod or container whose pushes are not recorded: it has to stop, too, if its trial has. A warning says so
   * if somebody may have meant it, which of a pod beside the primary one nobody does.
   */
  function answerOther(plan: ObservationPlan, { container }: Push): PushAnswer | undefined {
    const control = actors.get(plan.job.uid)?.control;
    if (control !== undefined) return { ok: true, control };
    const wanted = plan.mapping?.primaryContainerName;
    const isOther = plan.mapping !== undefined && !isPrimaryContainer(plan.mapping, container);
    const why = plans.primaryProblem(plan) ??
      (isOther
        ? `container "${container}" pushed it, and primaryContainerName is "${wanted}"`
        : "");
    return why === "" ? undefined : { ok: true, warnings: [`not recorded: ${why}`] };
  }

  function record(
    plan: ObservationPlan,
    isPrimary: boolean | undefined,
    push: Push,
    signal: AbortSignal,
  ): PushAnswer | undefined | Promise<PushAnswer> {
    if (closed.signal.aborted) return NOT_OWNER;
    if (endedLogs.has(logKeyText(plan.key))) return gone("the job's Trial was deleted");
    // The Trial's observation is fixed: what came now would be only in the log.
    const stopped = answerStopped(plan.job);
    if (stopped !== undefined) return stopped;
    if (plans.hasEnded(plan)) return ENDED_TRIAL;
    if (isPrimary === undefined) return plan.isPlain ? undefined : UNKNOWN_POD;
    const { mapping } = plan;
    const isOther = mapping !== undefined && !isPrimaryContainer(mapping, push.container);
    if (!isPrimary || isOther) return answerOther(plan, push);
    if (isInPlainLogs(plan)) return recordInMemory(plan, push);
    const actor = actors.of(plan);
    return plan.isPlain ? recordBestEffort(actor, push, signal) : actor.accept(push, signal);
  }

  function recordByPlan(plan: PlanDecision, push: Push, signal: AbortSignal) {
    if (plan.kind === "unknown") return comeAgain(plan.why);
    if (plan.kind === "gone") return gone(plan.why);
    if (plan.kind !== "plan") return undefined;
    return continueWith(
      plans.isPrimary(plan, push.pod),
      (isPrimary) => record(plan, isPrimary, push, signal),
    );
  }

  async function settleLog(plan: ObservationPlan, signal: AbortSignal): Promise<void> {
    const actor = actors.of(plan);
    await settledOrAborted(actor.drained(), signal);
    const loaded = actor.load();
    await settledOrAborted(loaded, signal);
    scheduleStop(actor);
    await settledOrAborted(stops.hurry(plan.job.uid), signal);
    if (signal.aborted) return;
    const { verdict, unreported } = await loaded;
    if (verdict === undefined && unreported().length > 0) onUnreported(plan, unreported());
  }

  /** Returns undefined if the end of the job has to wait for nothing; a plain job never waits. */
  function settleByPlan(plan: PlanDecision, signal: AbortSignal): Promise<void> | undefined {
    if (plan.kind !== "plan" || plan.isPlain) return undefined;
    const isPending = actors.get(plan.job.uid)?.idle === false;
    return isPending || plan.rules.length > 0 ? settleLog(plan, signal) : undefined;
  }

  /** Waits for the stop, too, if the log cannot be read; rejects then. */
  async function settleBoth(
    log: Promise<void> | undefined,
    stop: Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await settledOrAborted(Promise.allSettled([log, stop]), signal);
    await log;
  }

  function drop(key: LogKey, isWanted?: () => boolean): void {
    endedLogs.set(logKeyText(key), true);
    const actor = actors.ofLog(key);
    // Katib deletes its own logs, but not what was under way then.
    if (actor === undefined && sink.traits.knowsTrialsByNameAlone) return;
    deletions.drop(key, { after: actor?.drained(), isWanted });
  }

  async function runToClose(signal: AbortSignal): Promise<void> {
    await Promise.all([openTrials.run(signal), storedStops.run(signal), searches?.run(signal)]);
    closed.abort();
    await stops.close();
    await Promise.all(actors.all().map((actor) => actor.drained()));
    await deletions.close();
  }

  return {
    accept(push, signal) {
      if (closed.signal.aborted) return NOT_OWNER;
      const plan = plans.planFor(push.job, signal);
      const answer = continueWith(plan, (it) => recordByPlan(it, push, signal));
      const judged = continueWith(
        answer,
        (it) => continueWith(searches?.judged(push.job.uid), () => it),
      );
      return continueWith(judged, (it) => storedStops.withControl(push.job, it));
    },
    settle(job, signal) {
      const plan = plans.planFor(job, signal);
      const log = plan instanceof Promise
        ? plan.then((it) => settleByPlan(it, signal))
        : settleByPlan(plan, signal);
      const stop = storedStops.settle(job, signal);
      return stop === undefined ? log : settleBoth(log, stop, signal);
    },
    async requestStop(request, signal) {
      if (closed.signal.aborted) return NOT_OWNER;
      return await storedStops.request(request, signal);
    },
    forget(job, asked = false) {
      const { namespace, name, uid } = job;
      openTrials.forget(job.uid);
      plainLogs.forget(job.uid);
      stops.forget(job.uid);
      const actor = actors.remove(job.uid);
      const isOwn = actor === undefined
        ? sink.traits.keepsPlainJobs || asked
        : actor.plan.key.kind === "job";
      if (isOwn) deletions.drop({ kind: "job", namespace, name, uid });
    },
    leave({ uid }) {
      openTrials.forget(uid);
      stops.forget(uid);
    },
    drop,
    stopped: answerStopped,
    isStopping: stops.decided,
    openTrials: () => plans.openPlans().length,
    async run(signal) {
      // A list of logs that is under way keeps nothing open.
      await Promise.all([runToClose(signal), options.dropLogs?.(drop, signal)]);
    },
    ...reader,
    get history() {
      return sink.traits.isShared ? sink.history : undefined;
    },
    onChange: changes.add,
  };
}
