/** Actor of one log at its owner: writes queued pushes in batches, and answers them when they are stored. */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../kube/clock.ts";
import { withDeadline } from "../../kube/deadline.ts";
import { messageOf } from "../../kube/errors.ts";
import { type ObservationSink, SinkError } from "../log/sink.ts";
import { type ObservationRow } from "../../trials/recording/observation_row.ts";
import { isSameRun, ONE_RUN, type PresentRun } from "../../trials/recording/present_run.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { ObservedPush, PlanSource, PushAnswer, StopControl, Verdict } from "./adapter.ts";
import { createLogState, type LogState } from "./log_state.ts";
import { createPushQueue, type QueuedPush } from "./push_queue.ts";

/** Options of {@link createLogActor}. */
export interface LogActorOptions {
  readonly sink: Pick<ObservationSink, "append" | "read" | "keepsRuns">;
  /** Returns the run that rows without one belong to. */
  readonly presentRun: PlanSource["presentRun"];
  readonly clock: Clock;
  /** Deadline of one call to the sink, in milliseconds. */
  readonly sinkMs: number;
  /** Whether this replica may still act as the owner. */
  readonly leading: () => boolean;
  /** Called for new rows or a verdict. Returns the log's new version. */
  readonly onChange: () => number;
  /** Called for rows that the sink will never take. */
  readonly onRefused: (plan: ObservationPlan, problem: string) => void;
}

/** One log, whose pushes are written in order. */
export interface LogActor {
  readonly plan: ObservationPlan;
  /** The pod that pushed last. */
  readonly pod: string | undefined;
  /** Whether nothing is queued or under way. */
  readonly idle: boolean;
  /** The state of the log; undefined before it is replayed, and after a write of unknown outcome. */
  readonly state: LogState | undefined;
  /** The instruction to its pods to stop, once the last rule was met. */
  readonly control: StopControl | undefined;
  /** Grows with every change. */
  readonly version: number;
  /** Whether the last write failed. */
  readonly failing: boolean;
  /** Changes the plan; the log is replayed if rules or metrics differ. */
  usePlan(plan: ObservationPlan): void;
  /** Resolves with an answer when the rows are in the log. Never rejects. */
  accept(push: ObservedPush, signal: AbortSignal): Promise<PushAnswer>;
  /** Resolves with the state, which is replayed if needed. Rejects with a SinkError. */
  load(): Promise<LogState>;
  /**
   * Reads a log that does not keep runs again if its present run has changed, and once a minute, since others
   * may write to it. Resolves with whether it was read. Rejects with a SinkError.
   */
  refresh(): Promise<boolean>;
  /** Resolves when nothing is queued or under way. */
  drained(): Promise<void>;
}

/** Times after which clients should retry, in milliseconds; much later for rows that will not be accepted. */
const RETRY_AFTER_MS = { soon: 1_000, refused: 10_000 } as const;

/** Interval between reads of a log to which others may write, in milliseconds. */
const REFRESH_MS = 60_000;

const REFUSED = {
  notOwner: {
    retryAfterMs: RETRY_AFTER_MS.soon,
    reason: "this replica no longer owns the observation log: try again soon",
  },
  tooMany: {
    retryAfterMs: RETRY_AFTER_MS.soon,
    reason: "too many pushes of this job wait for the observation log: try again soon",
  },
} as const;

const logger = getLogger(["milepost", "katib"]);

/** Returns the instruction to a trainer whose trial is to stop. */
function controlOf(verdict: Verdict | undefined): StopControl | undefined {
  return verdict &&
    { stop: true, reason: "EarlyStopped", message: `stopped early: ${verdict.message}` };
}

/** Returns the parts of a plan that decide what the rows of its log mean. */
function meaningOf({ objective, records, rules }: ObservationPlan): string {
  return JSON.stringify([objective, records, rules]);
}

/** Creates the actor of a log. It does nothing until it is used. */
export function createLogActor(first: ObservationPlan, options: LogActorOptions): LogActor {
  const { sink, presentRun, clock, sinkMs, leading, onChange, onRefused } = options;
  let plan = first;
  let pod: string | undefined;
  let version = 0;
  let failing = false;
  let state: LogState | undefined;
  /** The last state, also while there is none. */
  let last: LogState | undefined;
  let loading: Promise<LogState> | undefined;
  /** Monotonic time of the last read. */
  let readAtMs = -Infinity;
  let pumping: Promise<void> | undefined;
  const queue = createPushQueue();

  const inTime = <T>(work: (signal: AbortSignal) => Promise<T>) =>
    withDeadline({
      clock,
      deadlineMs: sinkMs,
      onDeadline: () =>
        new SinkError("unavailable", `the observation log did not answer within ${sinkMs} ms`),
    }, work);

  async function presentRunOf(asked: ObservationPlan, signal: AbortSignal): Promise<PresentRun> {
    try {
      return await presentRun(asked, signal);
    } catch (cause) {
      const problem = `the pods of the job are not known now: ${messageOf(cause)}`;
      throw new SinkError("unavailable", problem, { cause, wroteNothing: true });
    }
  }

  async function replay(): Promise<LogState> {
    const asked = plan;
    const [rows, present] = await inTime(async (signal) => {
      const rows = await sink.read(asked.key, signal);
      const isKept = asked.rules.length === 0 ||
        (sink.keepsRuns && rows.every(({ run }) => run !== undefined));
      return [rows, isKept ? ONE_RUN : await presentRunOf(asked, signal)] as const;
    });
    const { keepsRuns } = sink;
    const replayed = createLogState(asked, rows, { present, keepsRuns, before: last });
    readAtMs = clock.monotonic();
    if (asked !== plan && meaningOf(asked) !== meaningOf(plan)) return await replay();
    state = last = replayed;
    version = onChange();
    return replayed;
  }

  function load(): Promise<LogState> {
    if (state !== undefined) return Promise.resolve(state);
    loading ??= replay().finally(() => loading = undefined);
    return loading;
  }

  /** Whether rows without a run would belong to another run than when the log was read. */
  async function hasNewRun(log: LogState): Promise<boolean> {
    if (sink.keepsRuns || plan.rules.length === 0) return false;
    return !isSameRun(log.present, await inTime((signal) => presentRunOf(plan, signal)));
  }

  /** Reads the log again. */
  function reload(): Promise<LogState> {
    state = undefined;
    return load();
  }

  /** Returns the state for the next push. */
  async function upToDate(): Promise<LogState> {
    const log = await load();
    return await hasNewRun(log) ? await reload() : log;
  }

  /** Returns the verdict of a log that others may have written to: the one of the rows that are in it now. */
  async function confirmed(): Promise<Verdict | undefined> {
    try {
      return (await reload()).verdict;
    } catch (error) {
      logger.debug("the log of a trial to be stopped cannot be read", {
        problem: messageOf(error),
      });
      return undefined;
    }
  }

  const refusal = (reason: string, retryAfterMs: number = RETRY_AFTER_MS.soon): PushAnswer => ({
    retryAfterMs,
    reason,
  });

  /** Writes rows. If the sink wrote nothing the state before holds; otherwise the log must be replayed. */
  async function append(rows: readonly ObservationRow[], takeBack: () => void): Promise<void> {
    let wroteNothing = false;
    try {
      await inTime((signal) =>
        sink.append(plan.key, rows, signal).catch((error) => {
          wroteNothing = error instanceof SinkError && error.wroteNothing;
          throw error;
        })
      );
    } catch (error) {
      // Otherwise rows may be in the log or not: it is read before anything else is judged.
      if (wroteNothing) takeBack();
      else state = undefined;
      throw error;
    }
  }

  async function write(batch: readonly QueuedPush[]): Promise<readonly PushAnswer[]> {
    const log = await upToDate();
    const takeBack = log.mark();
    const taken = batch.map(({ push }) => log.take(push));
    const rows = taken.flatMap((it) => it.rows);
    // An owner that was paused writes nothing when it wakes (docs/decisions/0014).
    if (!leading()) {
      state = undefined;
      return batch.map(() => REFUSED.notOwner);
    }
    let { verdict } = log;
    const wasOpen = verdict === undefined;
    if (rows.length > 0) {
      await append(rows, takeBack);
      taken.forEach(log.commit);
      verdict = log.verdict;
      if (wasOpen && verdict !== undefined && !sink.keepsRuns) verdict = await confirmed();
      else version = onChange();
    }
    failing = false;
    const control = controlOf(verdict);
    return taken.map(({ warnings }): PushAnswer => ({
      ok: true,
      ...(warnings.length > 0 && { warnings }),
      ...(control && { control }),
    }));
  }

  function failed(error: unknown): PushAnswer {
    failing = true;
    if (!(error instanceof SinkError)) {
      state = undefined;
      const { namespace, name } = plan.job;
      logger.error("cannot record a push", { namespace, name, error });
      return refusal("the push could not be recorded: see the log of the manager");
    }
    if (error.kind === "unavailable") {
      return refusal("the observation log is not available: try again soon", error.retryAfterMs);
    }
    onRefused(plan, error.message);
    return refusal(
      `the observation log refused the push: ${error.message}`,
      Math.max(RETRY_AFTER_MS.refused, error.retryAfterMs),
    );
  }

  async function pump(): Promise<void> {
    for (let batch = queue.nextBatch(); batch.length > 0; batch = queue.nextBatch()) {
      let answers: readonly PushAnswer[];
      try {
        answers = await write(batch);
      } catch (error) {
        const answer = failed(error);
        answers = batch.map(() => answer);
      }
      batch.forEach(({ answer }, index) => answer(answers[index] ?? REFUSED.notOwner));
    }
  }

  function wake(): void {
    pumping ??= pump().finally(() => {
      pumping = undefined;
      // A push may have arrived with the last answers.
      if (!queue.isEmpty) wake();
    });
  }

  return {
    get plan() {
      return plan;
    },
    get pod() {
      return pod;
    },
    get idle() {
      return pumping === undefined && loading === undefined && queue.isEmpty;
    },
    get state() {
      return state;
    },
    get control() {
      return controlOf(state?.verdict);
    },
    get version() {
      return version;
    },
    get failing() {
      return failing;
    },
    usePlan(next) {
      if (next === plan) return;
      if (meaningOf(next) !== meaningOf(plan)) state = undefined;
      plan = next;
    },
    accept(push, signal) {
      return new Promise((answer) => {
        if (!queue.add({ push, signal, answer })) return answer(REFUSED.tooMany);
        pod = push.pod.name;
        wake();
      });
    },
    load,
    async refresh() {
      if (state === undefined) await load();
      else if (sink.keepsRuns || pumping !== undefined || loading !== undefined) return false;
      else if (clock.monotonic() - readAtMs < REFRESH_MS && !await hasNewRun(state)) return false;
      else await reload();
      return true;
    },
    async drained() {
      while (pumping !== undefined) await pumping;
    },
  };
}
