/** One log at its owner: pushes wait in line, go to the sink together, and are answered when they are there. */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../kube/clock.ts";
import { withDeadline } from "../../kube/deadline.ts";
import { type ObservationSink, SinkError } from "../log/sink.ts";
import { type ObservationRow } from "../../trials/recording/observation_row.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { Answer, ObservedPush, StopControl, Verdict } from "./adapter.ts";
import { createLogState, type LogState } from "./log_state.ts";

/** What a log is kept with. */
export interface LogActorOptions {
  readonly sink: Pick<ObservationSink, "append" | "read">;
  readonly clock: Clock;
  /** Longest time of one call to the sink, in milliseconds. */
  readonly sinkMs: number;
  /** Whether this replica may still act as the owner. */
  readonly leading: () => boolean;
  /** Rows came in, or a verdict. Answers the log's new version. */
  readonly onChange: () => number;
  /** These rows will never be taken. */
  readonly onRefused: (plan: ObservationPlan, problem: string) => void;
}

/** One log, in order. */
export interface LogActor {
  readonly plan: ObservationPlan;
  /** The pod that pushed last. */
  readonly pod: string | undefined;
  /** Nothing is in hand. */
  readonly idle: boolean;
  /** What the log says; undefined before it is replayed, and after a write of unknown outcome. */
  readonly state: LogState | undefined;
  /** What its pods are told, where the last rule was met. */
  readonly control: StopControl | undefined;
  /** Grows with every change. */
  readonly version: number;
  /** The last write did not come about. */
  readonly failing: boolean;
  /** Another plan for the same log: what differs in rules or metrics makes it be replayed. */
  adopt(plan: ObservationPlan): void;
  /** Answered when the rows are in the log. Never rejects. */
  accept(push: ObservedPush, signal: AbortSignal): Promise<Answer>;
  /** The state, replayed where that is needed. Rejects with a SinkError. */
  load(): Promise<LogState>;
  /** Resolves when nothing is in hand any more. */
  drained(): Promise<void>;
}

/** Pushes of one log that wait at a time; more are told to come again. */
const MAX_WAITING = 256;
/** Rows that go to the sink in one call. */
const MAX_ROWS = 2_000;
/** When a client may come again, in milliseconds: soon; and for what is not going to be taken. */
const AGAIN_MS = { soon: 1_000, refused: 10_000 } as const;

const REFUSED = {
  notOwner: {
    retryAfterMs: AGAIN_MS.soon,
    reason: "this replica does not own the observation log any more: try again soon",
  },
  tooMany: {
    retryAfterMs: AGAIN_MS.soon,
    reason: "too many pushes of this job wait for the observation log: try again soon",
  },
} as const;

const logger = getLogger(["milepost", "katib"]);

interface Waiting {
  readonly push: ObservedPush;
  readonly signal: AbortSignal;
  readonly answer: (answer: Answer) => void;
}

/** What a trainer is told once its trial is to stop. */
function controlOf(verdict: Verdict | undefined): StopControl | undefined {
  return verdict &&
    { stop: true, reason: "EarlyStopped", message: `early stopping: ${verdict.message}` };
}

/** What of a plan decides what its log's rows mean. */
function meaningOf({ objective, records, rules }: ObservationPlan): string {
  return JSON.stringify([objective, records, rules]);
}

function samplesOf({ earlier }: ObservedPush): number {
  return 1 + (earlier?.length ?? 0);
}

/** Creates the actor of a log; it touches nothing before it is asked to. */
export function createLogActor(first: ObservationPlan, options: LogActorOptions): LogActor {
  const { sink, clock, sinkMs, leading, onChange, onRefused } = options;
  let plan = first;
  let pod: string | undefined;
  let version = 0;
  let failing = false;
  let state: LogState | undefined;
  /** The one before, where there is none now. */
  let last: LogState | undefined;
  let loading: Promise<LogState> | undefined;
  let pumping: Promise<void> | undefined;
  const waiting: Waiting[] = [];

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

  /** The next that still want an answer, no more than go in one call. */
  function nextBatch(): Waiting[] {
    const batch: Waiting[] = [];
    for (let samples = 0; waiting.length > 0;) {
      const next = waiting[0];
      if (next === undefined || (batch.length > 0 && samples >= MAX_ROWS)) break;
      waiting.shift();
      if (next.signal.aborted) {
        next.answer(refusal("nobody waited for the answer any more"));
        continue;
      }
      samples += samplesOf(next.push);
      batch.push(next);
    }
    return batch;
  }

  const refusal = (reason: string, retryAfterMs: number = AGAIN_MS.soon): Answer => ({
    retryAfterMs,
    reason,
  });

  /** Where nothing came into the log, what was known of it before is all that there is to know. */
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
      // Else rows may be in the log or not: the log itself says, before anything else is judged.
      if (wroteNothing) takeBack();
      else state = undefined;
      throw error;
    }
  }

  async function write(batch: readonly Waiting[]): Promise<readonly Answer[]> {
    const log = await load();
    const takeBack = log.mark();
    const taken = batch.map(({ push }) => log.take(push));
    const rows = taken.flatMap((it) => it.rows);
    // A paused owner that wakes writes nothing (design, decision 7).
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
    return taken.map(({ warnings }): Answer => ({
      ok: true,
      ...(warnings.length > 0 && { warnings }),
      ...(control && { control }),
    }));
  }

  function failed(error: unknown): Answer {
    failing = true;
    if (!(error instanceof SinkError)) {
      state = undefined;
      const { namespace, name } = plan.job;
      logger.error("a push could not be recorded", { namespace, name, error });
      return refusal("the push could not be recorded: see the manager's log");
    }
    if (error.kind === "unavailable") {
      return refusal("the observation log is not available: try again soon", error.retryAfterMs);
    }
    onRefused(plan, error.message);
    return refusal(
      `the observation log does not take this: ${error.message}`,
      Math.max(AGAIN_MS.refused, error.retryAfterMs),
    );
  }

  async function pump(): Promise<void> {
    for (let batch = nextBatch(); batch.length > 0; batch = nextBatch()) {
      let answers: readonly Answer[];
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
      // One may have come while the last answers were given.
      if (waiting.length > 0) wake();
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
      return pumping === undefined && loading === undefined && waiting.length === 0;
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
    adopt(next) {
      if (next === plan) return;
      if (meaningOf(next) !== meaningOf(plan)) state = undefined;
      plan = next;
    },
    accept(push, signal) {
      if (waiting.length >= MAX_WAITING) return Promise.resolve(REFUSED.tooMany);
      pod = push.pod.name;
      return new Promise((answer) => {
        waiting.push({ push, signal, answer });
        wake();
      });
    },
    load,
    async drained() {
      while (pumping !== undefined) await pumping;
    },
  };
}
