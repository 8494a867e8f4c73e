/** State of one log in memory, which is replayed when it is needed. */
import type { Clock } from "../../platform/base/clock.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import {
  isSameRun,
  laterRun,
  ONE_RUN,
  type PresentRun,
} from "../../trials/recording/present_run.ts";
import { type ObservationSink, SinkError } from "./sink.ts";
import type { PlanSource } from "./observations.ts";
import { createLogState, type LogState } from "./log_state.ts";

/** Options of {@link createLoadedLog}. */
export interface LoadedLogOptions {
  readonly sink: Pick<ObservationSink, "read" | "traits">;
  /** Returns the run that rows without one belong to. */
  readonly presentRun: PlanSource["presentRun"];
  readonly clock: Clock;
  /** Deadline of one call to the sink, in milliseconds. */
  readonly sinkMs: number;
  /** Returns the plan that says what the rows mean now. */
  readonly plan: () => ObservationPlan;
  /** Called when the log was read. */
  readonly onReplay: () => void;
}

/** Returns the parts of a plan that decide what the rows of its log mean. */
export function meaningOf(plan: ObservationPlan): string {
  const { objective, records, alsoRecorded, rules, stopsAt } = plan;
  return JSON.stringify([objective, records, alsoRecorded, rules, stopsAt]);
}

/** Creates the state of one log, while it is known. It reads nothing until it is used. */
export function createLoadedLog(options: LoadedLogOptions) {
  const { sink, presentRun, clock, sinkMs, plan, onReplay } = options;
  const { keepsRuns } = sink.traits;
  let state: LogState | undefined;
  /** The last state, also while there is none. */
  let last: LogState | undefined;
  let loading: Promise<LogState> | undefined;
  let readAtMs = -Infinity;
  /** Grows each time the state is forgotten, so that a read which began before is no new state. */
  let drops = 0;

  function drop(): void {
    state = undefined;
    drops += 1;
  }

  const inTime = <T>(work: (signal: AbortSignal) => Promise<T>) =>
    withDeadline({
      clock,
      deadlineMs: sinkMs,
      onDeadline: () =>
        new SinkError("unavailable", `the observation log did not answer within ${sinkMs} ms`),
    }, work);

  async function presentRunOf(asked: ObservationPlan): Promise<PresentRun> {
    try {
      return laterRun(last?.present, await presentRun(asked));
    } catch (cause) {
      const problem = `the pods of the job are not known now: ${messageOf(cause)}`;
      throw new SinkError("unavailable", problem, { cause, wroteNothing: true });
    }
  }

  async function replay(): Promise<LogState> {
    const asked = plan();
    const began = drops;
    const [rows, present] = await inTime(async (signal) => {
      const rows = await sink.read(asked.key, signal);
      const isKept = asked.rules.length === 0 ||
        (keepsRuns && rows.every(({ run }) => run !== undefined));
      return [rows, isKept ? ONE_RUN : await presentRunOf(asked)] as const;
    });
    const replayed = createLogState(asked, rows, { present, keepsRuns, before: last });
    readAtMs = clock.monotonic();
    if (began !== drops) return await replay();
    state = last = replayed;
    onReplay();
    return replayed;
  }

  function load(): Promise<LogState> {
    if (state !== undefined) return Promise.resolve(state);
    loading ??= replay().finally(() => loading = undefined);
    return loading;
  }

  return {
    /** Undefined before the log is read, and after `drop()`. */
    get state(): LogState | undefined {
      return state;
    },
    /** Monotonic time of the last read. */
    get readAtMs(): number {
      return readAtMs;
    },
    get loading(): boolean {
      return loading !== undefined;
    },
    /** Forgets the state, so that the log is read before anything else is judged; a read that is under way begins again. */
    drop,
    /** Resolves with the state, for which the log is read if needed. Rejects with a SinkError. */
    load,
    /** Resolves with the state of a read that begins now. Rejects with a SinkError. */
    reload(): Promise<LogState> {
      drop();
      return load();
    },
    /** Whether rows without a run would belong to another run than when the log was read. Rejects with a SinkError. */
    async hasNewRun({ present }: LogState): Promise<boolean> {
      if (keepsRuns || plan().rules.length === 0) return false;
      return !isSameRun(present, await inTime(() => presentRunOf(plan())));
    },
    /** Calls the sink within the deadline, else rejects with a SinkError. */
    inTime,
  };
}
