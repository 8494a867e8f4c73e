/** Fixture of the observations of a term: a sink in memory that can fail, and a stopper that notes its calls. */
import type {
  Observations,
  PlanSource,
  Stop,
  StopOutcome,
} from "../../../owner/observations/observations.ts";
import type { Control, PushAnswer } from "../../../crds/wire/push_answer.ts";
import type { Push } from "../../../crds/wire/push.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { JobStop } from "../../../crds/trainjob.ts";
import { type DecidedStop, storedForm } from "../../../owner/observations/stop_decision.ts";
import {
  createObservations,
  type ObservationsOptions,
} from "../../../owner/observations/term_observations.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import { type ObservationSink, SinkError } from "../../../owner/observations/sink.ts";
import type { ObservationPlan, PlanDecision } from "../../../trials/plan/observation_plan.ts";
import { ONE_RUN } from "../../../trials/recording/present_run.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";

/** The plan of a trial that stops when its loss is above 0.5 at report 2. */
export function trialPlan(name: string, more: Partial<ObservationPlan> = {}): ObservationPlan {
  return {
    kind: "plan",
    key: { kind: "trial", namespace: "default", name, uid: `trial-${name}` },
    job: { kind: TRAINJOB, namespace: "default", name, uid: `job-${name}` },
    objective: { name: "loss", type: "minimize", additional: [] },
    records: "named",
    rules: [{ name: "loss", value: "0.5", comparison: "greater", startStep: 2 }],
    graceMs: 0,
    ...more,
  };
}

/** A sink that can be made to fail, before or after it has written, or to hang until its signal aborts. */
export function unsteadySink(inner: ObservationSink = createMemorySink()) {
  const calls: string[] = [];
  const faults: ("before" | "unsent" | "after" | "hang" | "refused")[] = [];
  let down: "before" | "after" | "hang" | undefined;
  const hang = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      const end = () => reject(new SinkError("unavailable", "out of time"));
      signal.addEventListener("abort", end, { once: true });
      if (signal.aborted) end();
    });
  async function through<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    calls.push(name);
    const fault = faults.shift() ?? down;
    if (fault === "hang") return await hang(signal);
    if (fault === "refused") throw new SinkError("refused", "no such row");
    if (fault === "before") throw new SinkError("unavailable", "down", { retryAfterMs: 2_000 });
    if (fault === "unsent") throw new SinkError("unavailable", "full", { wroteNothing: true });
    const result = await work();
    if (fault === "after") throw new SinkError("unavailable", "the answer was lost");
    return result;
  }
  const sink: ObservationSink = {
    ...inner,
    append: (key, rows, signal) =>
      through(`append ${rows.length}`, signal, () => inner.append(key, rows, signal)),
    read: (key, signal, range) => through("read", signal, () => inner.read(key, signal, range)),
    delete: (key, signal) => through("delete", signal, () => inner.delete(key, signal)),
  };
  return {
    sink,
    inner,
    calls,
    /** Faults of the next calls, in their order. */
    fail: (...next: typeof faults) => void faults.push(...next),
    /** Fault of every other call. */
    set down(how: typeof down) {
      down = how;
    },
  };
}

/** A log as Katib's, which keeps no runs, and into which others write as well. */
export function katibsLog(
  inner = createMemorySink(),
): ObservationSink & { failReads(times: number): void } {
  let failures = 0;
  return {
    ...inner,
    traits: { ...inner.traits, name: "katib", keepsRuns: false },
    append: (key, rows, signal) =>
      inner.append(key, rows.map(({ time, name, value }) => ({ time, name, value })), signal),
    async read(key, signal, range) {
      if (failures > 0) {
        failures--;
        throw new SinkError("unavailable", "down");
      }
      return await inner.read(key, signal, range);
    },
    failReads: (times) => failures = times,
  };
}

/** One push of a loss. */
export function pushOf(
  plan: ObservationPlan,
  step: number,
  loss: string,
  more: Partial<Push> = {},
): Push {
  return {
    job: plan.job,
    pod: { name: `${plan.job.name}-node-0-0`, uid: `pod-${plan.job.name}` },
    trainerStatus: {
      metrics: [{ name: "loss", value: loss }],
      lastUpdatedTime: new Date(Date.UTC(2026, 0, 1) - 60_000 + step * 1000).toISOString(),
    },
    receivedMs: Date.UTC(2026, 0, 1),
    ...more,
  };
}

/** Options of {@link withObservations}. */
export interface FixtureOptions extends Partial<Omit<ObservationsOptions, "plans" | "stopper">> {
  readonly plans?: readonly ObservationPlan[];
  readonly isPrimary?: PlanSource["isPrimary"];
  readonly presentRun?: PlanSource["presentRun"];
  readonly primaryProblem?: PlanSource["primaryProblem"];
  /** Result of the stopper's n-th call, from 0. */
  readonly onStopCall?: (call: number) => StopOutcome | Promise<StopOutcome>;
}

/** Observations, their clock, and the calls of their stopper. */
export interface ObservationsFixture {
  readonly observations: Observations;
  readonly clock: FakeClock;
  /** Each call of the stopper. */
  readonly stops: readonly Stop[];
  /** Outcomes of stops. */
  readonly outcomes: readonly StopOutcome[];
  /** The plans by the UID of the job; tests change them. */
  readonly answers: Map<string, PlanDecision>;
  /** Decisions that were to be stored. */
  readonly wishes: readonly DecidedStop[];
  /** Decisions in the status of jobs, and jobs that are suspended, by UID; tests change them. */
  readonly stored: Map<string, JobStop>;
  readonly suspended: Set<string>;
  /** Early stops that objects show, and jobs whose Trial has ended otherwise, by UID; tests change them. */
  readonly shown: Map<string, Control>;
  readonly ended: Set<string>;
  push(
    plan: ObservationPlan,
    step: number,
    loss: string,
    more?: Partial<Push>,
  ): Promise<PushAnswer | undefined>;
  /** Runs everything that needs no time. */
  settle(): Promise<void>;
}

const never = new AbortController().signal;

/** Runs `work` with the observations of a term, and ends the term. */
export async function withObservations(
  options: FixtureOptions,
  work: (fixture: ObservationsFixture) => Promise<void>,
): Promise<void> {
  const settle = () => settlePromises(200);
  const clock = new FakeClock(undefined, settle);
  const stops: Stop[] = [];
  const outcomes: StopOutcome[] = [];
  const wishes: DecidedStop[] = [];
  const stored = new Map<string, JobStop>();
  const suspended = new Set<string>();
  const shown = new Map<string, Control>();
  const ended = new Set<string>();
  const answers = new Map(
    (options.plans ?? []).map((it): [string, PlanDecision] => [it.job.uid, it]),
  );
  const openPlans = () => [...answers.values()].flatMap((it) => it.kind === "plan" ? [it] : []);
  const observations = createObservations({
    sink: createMemorySink(),
    clock,
    random: () => 0.5,
    leading: () => true,
    sinkMs: 2_500,
    onStop: (_, outcome) => void outcomes.push(outcome),
    ...options,
    plans: {
      planFor: ({ uid }) => answers.get(uid) ?? { kind: "none" },
      openPlans,
      isOpen: ({ uid }) => answers.has(uid),
      isPrimary: options.isPrimary ?? (() => true),
      presentRun: options.presentRun ?? (() => ONE_RUN),
      stopTargetFor({ uid }) {
        const plan = answers.get(uid);
        const target = plan?.kind === "plan" ? { ...plan, graceMs: plan.graceMs } : undefined;
        return Promise.resolve(target);
      },
      storedStop: ({ uid }) => stored.get(uid),
      stoppingJobs: () => openPlans().map(({ job }) => job).filter(({ uid }) => stored.has(uid)),
      stopShown: ({ uid }) => shown.get(uid),
      hasEnded: ({ job: { uid } }) => ended.has(uid),
      primaryProblem: options.primaryProblem ?? (() => undefined),
      isSuspended: ({ uid }) => suspended.has(uid),
    },
    stopper: {
      store(wish) {
        wishes.push(wish);
        const stop = stored.get(wish.job.uid) ??
          storedForm(wish.byRules ?? wish.decision, clock.now());
        stored.set(wish.job.uid, stop);
        return Promise.resolve({ kind: "stored", stop });
      },
      stop(stop) {
        stops.push(stop);
        return Promise.resolve(options.onStopCall?.(stops.length - 1) ?? "stopped");
      },
    },
  });
  const over = new AbortController();
  const running = observations.run(over.signal);
  try {
    await work({
      observations,
      clock,
      stops,
      outcomes,
      answers,
      wishes,
      stored,
      suspended,
      shown,
      ended,
      settle,
      push: async (plan, step, loss, more) =>
        await observations.accept(pushOf(plan, step, loss, more), never),
    });
  } finally {
    over.abort();
    await running;
  }
}
