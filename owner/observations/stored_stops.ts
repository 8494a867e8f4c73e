/** Stops by decisions that jobs hold in their status: those of requests, and those that a former owner left. */
import { askedBy } from "../../platform/base/asked_by.ts";
import { getLogger } from "@logtape/logtape";
import { type JobRef, jobText } from "../../crds/job_kind.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { settledOrAborted } from "../../platform/base/aborted.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import { droppedField } from "../field_patch.ts";
import { SinkError } from "./sink.ts";
import {
  controlOf,
  decidedByRules,
  decisionOf,
  type StopDecision,
  type StoreOutcome,
} from "./stop_decision.ts";
import type { Actors } from "./actors.ts";
import type { StopAnswer } from "../../crds/wire/stop_request.ts";
import type { PlanSource, Stop, Stopper, StopRequest } from "./observations.ts";
import type { PushAnswer } from "../../crds/wire/push_answer.ts";
import type { Stops } from "./stops.ts";

/** Options of {@link createStoredStops}. */
export interface StoredStopsOptions {
  readonly plans: PlanSource;
  readonly actors: Pick<Actors, "get" | "of">;
  readonly stops: Pick<Stops, "schedule" | "hurry" | "hurrySuspended" | "decision" | "pending">;
  readonly stopper: Pick<Stopper, "store">;
  readonly clock: Clock;
}

/** Interval between checks of the jobs, in milliseconds. */
const INTERVAL_MS = 5_000;
/** Targets that are looked up at a time. */
const AT_ONCE = 16;

/** Returns the answer for a decision that is not stored, or for the one that is. */
function answerOf(job: JobRef, outcome: StoreOutcome): StopAnswer {
  const what = jobText(job);
  switch (outcome.kind) {
    case "stored":
    case "stopped":
      return { stop: outcome.stop };
    case "ended":
      return { refusal: "ended", reason: `${what} has ended, and was not stopped early` };
    case "trial ended":
      return {
        refusal: "ended",
        reason: `the Trial of ${what} has ended, and was not stopped early`,
      };
    case "gone":
      return { refusal: "gone", reason: `${what} is being deleted, or is gone` };
    case "elsewhere": {
      const reason = `${what} is run by ${outcome.controller} in another cluster: stop it there`;
      return { refusal: "elsewhere", reason };
    }
    case "changed":
      return comeAgain(`another Trial controls ${what} now: try again`);
    case "pruned":
      return droppedField(job.kind, "status.stop");
  }
}

/** Creates the stops of stored decisions, of one term. */
export function createStoredStops({ plans, actors, stops, stopper, clock }: StoredStopsOptions) {
  const log = getLogger(["milepost", "katib"]);

  /** What the job's rules have decided, if anything. Rejects with a SinkError if the log cannot be read. */
  async function decidedBefore(job: JobRef, signal: AbortSignal) {
    const plan = await plans.planFor(job, signal);
    if (plan.kind === "unknown") throw new SinkError("unavailable", plan.why);
    if (plan.kind !== "plan" || plan.rules.length === 0) return undefined;
    const { verdict } = await actors.of(plan).load();
    return verdict && decidedByRules(job.kind, verdict, plan.graceMs);
  }

  async function store(request: StopRequest, signal: AbortSignal): Promise<StopAnswer> {
    const { job, trialUid, user, stop } = request;
    const { reason, message = askedBy(user), graceSeconds, defaultGraceSeconds = 0 } = stop;
    const target = await plans.stopTargetFor(job, signal);
    if (target === undefined) return answerOf(job, { kind: "gone" });
    const byRules = await decidedBefore(job, signal);
    const receivedMs = clock.now();
    const time = new Date(receivedMs).toISOString();
    const graceMs = graceSeconds === undefined
      ? target.graceMs ?? defaultGraceSeconds * 1000
      : graceSeconds * 1000;
    const decision: StopDecision = { reason, message, user, graceMs, time, receivedMs };
    const decided = { job, decision, byRules, trialUid };
    const outcome = await stopper.store(decided, target.key, signal);
    if (outcome.kind === "stored") {
      stops.schedule({ plan: target, decision: decisionOf(outcome.stop) });
    }
    return answerOf(job, outcome);
  }

  async function resume(job: JobRef, signal: AbortSignal): Promise<void> {
    const stored = plans.storedStop(job);
    const target = stored && await plans.stopTargetFor(job, signal);
    if (target) stops.schedule({ plan: target, decision: decisionOf(stored) });
  }

  async function resumeAll(signal: AbortSignal): Promise<void> {
    const jobs = plans.stoppingJobs();
    const errors = await inParallel(jobs, (job) => resume(job, signal), {
      limit: AT_ONCE,
      signal,
    });
    if (errors.length === 0 || signal.aborted) return;
    log.debug("cannot look up what is stopped with a job; retrying", {
      jobs: errors.length,
      problem: messageOf(errors[0]),
    });
  }

  return {
    /** Stores the decision that is asked for, and schedules the stop. Never rejects. */
    async request(request: StopRequest, signal: AbortSignal): Promise<StopAnswer> {
      try {
        return await store(request, signal);
      } catch (error) {
        const { namespace, name } = request.job;
        const problem = messageOf(error);
        log.debug("cannot store the decision to stop a job early", { namespace, name, problem });
        return comeAgain(`the decision could not be stored: ${problem}`);
      }
    },
    /** Adds to an answer that the job is to stop, whoever decided that, and whatever is recorded of it. */
    withControl(job: JobRef, answer: PushAnswer | undefined): PushAnswer | undefined {
      const stored = plans.storedStop(job);
      const decision = stored === undefined ? stops.decision(job.uid) : decisionOf(stored);
      if (decision === undefined || (answer !== undefined && !answer.ok)) return answer;
      return { ok: true, ...answer, control: controlOf(decision) };
    },
    /** Writes the stop of a job that has ended by itself at once. Returns undefined if there is none. */
    settle(job: JobRef, signal: AbortSignal): Promise<void> | undefined {
      if (stops.pending(job.uid)) return stops.hurry(job.uid);
      if (plans.storedStop(job) === undefined) return undefined;
      return resume(job, signal).then(() => stops.hurry(job.uid));
    },
    /** Schedules the stops of all jobs whose status holds a decision, every few seconds, until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        stops.hurrySuspended();
        await resumeAll(signal);
        await clock.sleep(INTERVAL_MS, signal);
      }
    },
  };
}

/**
 * Returns the stop with the observation as the log has it now. A log that others may write to is read again, so that
 * their rows count whenever they came. Rejects if it is needed and not known.
 */
export async function refreshedStop(
  { plans, actors, othersWrite }: Pick<StoredStopsOptions, "plans" | "actors"> & {
    /** Whether the log may have rows that Milepost did not write. */
    readonly othersWrite: boolean;
  },
  stop: Stop,
  signal: AbortSignal,
): Promise<Stop> {
  const { key, job } = stop.plan;
  const actor = actors.get(job.uid);
  // What was taken before the end is in the log first; nothing is taken after it.
  if (actor !== undefined) await settledOrAborted(actor.drained(), signal);
  signal.throwIfAborted();
  const known = actor?.state?.observation();
  if (key.kind === "job" || (known !== undefined && !othersWrite)) {
    return known === undefined ? stop : { ...stop, observation: known };
  }
  const { observation = known } = stop;
  const plan = await plans.planFor(job, signal);
  if (plan.kind === "plan") {
    try {
      const log = actors.of(plan);
      const { observation } = await (othersWrite ? log.reload() : log.load());
      return { ...stop, observation: observation() };
    } catch (error) {
      // Its rows have met the rules: what was known then ends the Trial while the log is away.
      if (observation === undefined) throw error;
    }
  }
  if (plan.kind === "unknown" && observation === undefined) throw new Error(plan.why);
  return { ...stop, observation: known ?? observation };
}
