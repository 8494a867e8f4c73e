/** Actor of one log at its owner: writes queued pushes in batches, and answers them when they are stored. */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../kube/clock.ts";
import { withDeadline } from "../../kube/deadline.ts";
import { type ObservationSink, SinkError } from "../log/sink.ts";
import { type ObservationRow } from "../../trials/recording/observation_row.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { ObservedPush, PushAnswer, StopControl, Verdict } from "./adapter.ts";
import { createLogState, type LogState } from "./log_state.ts";
import { createPushQueue, type QueuedPush } from "./push_queue.ts";

/** Options of {@link createLogActor}. */
export interface LogActorOptions {
  readonly sink: Pick<ObservationSink, "append" | "read">;
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
  /** Resolves when nothing is queued or under way. */
  drained(): Promise<void>;
}

/** Times after which clients should retry, in milliseconds; much later for rows that will not be accepted. */
const RETRY_AFTER_MS = { soon: 1_000, refused: 10_000 } as const;

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
  const { sink, clock, sinkMs, leading, onChange, onRefused } = options;
  let plan = first;
  let pod: string | undefined;
  let version = 0;
  let failing = false;
  let state: LogState | undefined;
  /** The last state, also while there is none. */
  let last: LogState | undefined;
  let loading: Promise<LogState> | undefined;
  let pumping: Promise<void> | undefined;
  const queue = createPushQueue();

  const inTime = <T>(work: (signal: AbortSignal) => Promise<T>) =>
    withDeadline({
      clock,
      deadlineMs: sinkMs,
      onDeadline: () =>
        new SinkError("unavailable", `the observation log did not answer within ${sinkMs} ms`),
    }, work);

  async function replay(): Promise<LogState> {
    const asked = plan;
    const rows = await inTime((signal) => sink.read(asked.key, signal));
    const replayed = createLogState(asked, rows, last);
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
    const log = await load();
    const takeBack = log.mark();
    const taken = batch.map(({ push }) => log.take(push));
    const rows = taken.flatMap((it) => it.rows);
    // An owner that was paused writes nothing when it wakes (docs/decisions/0014).
    if (!leading()) {
      state = undefined;
      return batch.map(() => REFUSED.notOwner);
    }
    if (rows.length > 0) {
      await append(rows, takeBack);
      taken.forEach(log.commit);
      version = onChange();
    }
    failing = false;
    const control = controlOf(log.verdict);
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
    async drained() {
      while (pumping !== undefined) await pumping;
    },
  };
}
