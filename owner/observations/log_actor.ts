/** Actor of one log at its owner: writes queued pushes in batches, and answers them when they are stored. */
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import { getLogger } from "@logtape/logtape";
import type { JobRef } from "../../crds/job_kind.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { type ObservationSink, SinkError } from "./sink.ts";
import { controlOf, decidedByRules, type Verdict } from "./stop_decision.ts";
import type { Control, PushAnswer } from "../../crds/wire/push_answer.ts";
import type { Push } from "../../crds/wire/push.ts";
import { shownStatus } from "../../crds/wire/sample.ts";
import { createLoadedLog, type LoadedLogOptions, meaningOf } from "./loaded_log.ts";
import type { LogState } from "./log_state.ts";
import { createPushQueue, type QueuedPush } from "./push_queue.ts";

/** Time after which clients should retry what was refused, in milliseconds: it will not be accepted. */
const REFUSED_RETRY_MS = 10_000;

/** Pushes after which a metric of a rule that nobody has pushed is told: it may be misspelt. */
const TOLD_AFTER = 10;

/** Interval between reads of a log to which others may write, in milliseconds. */
const REFRESH_MS = 60_000;

/** The answer of a replica whose term is over. */
export const NOT_OWNER = comeAgain(
  "this replica no longer owns the observation log: try again soon",
);
const TOO_MANY = comeAgain(
  "too many pushes of this job wait for the observation log: try again soon",
);

const logger = getLogger(["milepost", "katib"]);

/** One log, whose pushes are written in order. */
export type LogActor = ReturnType<typeof createLogActor>;

/** Creates the actor of a log. It does nothing until it is used. */
export function createLogActor(
  first: ObservationPlan,
  options: Omit<LoadedLogOptions, "plan" | "onReplay"> & {
    readonly sink: LoadedLogOptions["sink"] & Pick<ObservationSink, "append">;
    /** Whether this replica may still act as the owner. */
    readonly leading: () => boolean;
    /** Called for new rows or a verdict. */
    readonly onChange: () => void;
    /** Called for each push with its rows, which are in the log since now, and the UID of its pod; none for a retry. */
    readonly onTaken: (job: JobRef, pod: string, rows: readonly ObservationRow[]) => void;
    /** Called when rows may have come into the log or not. */
    readonly onUnknown: (job: JobRef) => void;
    /** Called for rows that the sink will never take. */
    readonly onRefused: (plan: ObservationPlan, problem: string) => void;
    /** Called once, after some pushes, of which none had these metrics, which rules name; with those of the newest. */
    readonly onUnreported: (
      plan: ObservationPlan,
      names: readonly string[],
      pushed: readonly string[],
    ) => void;
  },
) {
  const { sink, clock, leading, onChange, onTaken, onUnknown, onRefused, onUnreported } = options;
  let plan = first;
  let pod: string | undefined;
  let failing = false;
  let pushes = 0;
  let pumping: Promise<void> | undefined;
  const queue = createPushQueue();
  const loaded = createLoadedLog({
    ...options,
    plan: () => plan,
    onReplay: onChange,
  });

  /** Returns the instruction to a trainer whose trial is to stop. */
  const instruction = (verdict: Verdict | undefined) =>
    verdict && controlOf(decidedByRules(plan.job.kind, verdict, plan.graceMs));

  /** Returns the state for the next push: that of the plan, also if this changes meanwhile. */
  async function upToDate(): Promise<LogState> {
    for (;;) {
      const log = await loaded.load();
      const latest = await loaded.hasNewRun(log) ? await loaded.reload() : log;
      if (latest === loaded.state) return latest;
    }
  }

  /** Returns the verdict of the rows that are in the log now, which others may have written or which the plan reads anew. */
  async function confirmed(): Promise<Verdict | undefined> {
    try {
      return (await loaded.reload()).verdict;
    } catch (error) {
      logger.debug("the log of a trial to be stopped cannot be read", {
        problem: messageOf(error),
      });
      return undefined;
    }
  }

  /** Writes rows. If the sink wrote nothing the state before holds; otherwise the log must be replayed. */
  async function append(rows: readonly ObservationRow[], takeBack: () => void): Promise<void> {
    let wroteNothing = false;
    try {
      await loaded.inTime((signal) =>
        sink.append(plan.key, rows, signal).catch((error) => {
          wroteNothing = error instanceof SinkError && error.wroteNothing;
          throw error;
        })
      );
    } catch (error) {
      // Otherwise rows may be in the log or not: it is read before anything else is judged.
      if (wroteNothing) takeBack();
      else {
        loaded.drop();
        onUnknown(plan.job);
      }
      throw error;
    }
  }

  /** Tells of rules for metrics that nobody pushes, once. */
  function checkMetrics({ unreported }: LogState, batch: readonly QueuedPush[]): void {
    const isDue = pushes < TOLD_AFTER && pushes + batch.length >= TOLD_AFTER;
    pushes += batch.length;
    if (!isDue || unreported().length === 0) return;
    const newest = batch.at(-1)?.push.trainerStatus;
    const { metrics = [] } = newest === undefined ? {} : shownStatus(newest);
    onUnreported(plan, unreported(), metrics.map(({ name }) => name));
  }

  async function write(batch: readonly QueuedPush[]): Promise<readonly PushAnswer[]> {
    const log = await upToDate();
    const takeBack = log.mark();
    const taken = batch.map(({ push }) => log.take(push));
    const rows = taken.flatMap((it) => it.rows);
    // An owner that was paused writes nothing when it wakes (docs/decisions/0014).
    if (!leading()) {
      loaded.drop();
      return batch.map(() => NOT_OWNER);
    }
    let { verdict } = log;
    const wasOpen = verdict === undefined;
    if (rows.length > 0) {
      await append(rows, takeBack);
      const isCurrent = log === loaded.state;
      if (isCurrent) {
        taken.forEach(log.commit);
        verdict = log.verdict;
      }
      if (!isCurrent || wasOpen && verdict !== undefined && !sink.traits.keepsRuns) {
        verdict = await confirmed();
      } else onChange();
    }
    failing = false;
    batch.forEach(({ push }, index) => onTaken(plan.job, push.pod.uid, taken[index]?.rows ?? []));
    if (verdict === undefined) checkMetrics(log, batch);
    const control = instruction(verdict);
    return taken.map(({ warnings }): PushAnswer => ({
      ok: true,
      ...(warnings.length > 0 && { warnings }),
      ...(control && { control }),
    }));
  }

  function failed(error: unknown): PushAnswer {
    failing = true;
    if (!(error instanceof SinkError)) {
      loaded.drop();
      const { namespace, name } = plan.job;
      logger.error("cannot record a push", { namespace, name, error });
      return comeAgain("the push could not be recorded: see the log of the manager");
    }
    if (error.kind === "unavailable") {
      return comeAgain("the observation log is not available: try again soon", error.retryAfterMs);
    }
    onRefused(plan, error.message);
    return comeAgain(
      `the observation log refused the push: ${error.message}`,
      Math.max(REFUSED_RETRY_MS, error.retryAfterMs),
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
      batch.forEach(({ answer }, index) => answer(answers[index] ?? NOT_OWNER));
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
    get plan(): ObservationPlan {
      return plan;
    },
    /** The pod that pushed last. */
    get pod(): string | undefined {
      return pod;
    },
    /** Whether nothing is queued or under way. */
    get idle(): boolean {
      return pumping === undefined && !loaded.loading && queue.isEmpty;
    },
    /** The state of the log; undefined before it is replayed, and after a write of unknown outcome. */
    get state(): LogState | undefined {
      return loaded.state;
    },
    /** The instruction to its pods to stop, once the last rule was met. */
    get control(): Control | undefined {
      return instruction(loaded.state?.verdict);
    },
    /** Whether the last write failed. */
    get failing(): boolean {
      return failing;
    },
    /** Changes the plan; the log is replayed if rules or metrics differ. */
    usePlan(next: ObservationPlan): void {
      if (next === plan) return;
      if (meaningOf(next) !== meaningOf(plan)) loaded.drop();
      plan = next;
    },
    /** Resolves with an answer when the rows are in the log. Never rejects. */
    accept(push: Push, signal: AbortSignal): Promise<PushAnswer> {
      return new Promise((answer) => {
        if (!queue.add({ push, signal, answer })) return answer(TOO_MANY);
        pod = push.pod.name;
        wake();
      });
    },
    /** Resolves with the state, which is replayed if needed. Rejects with a SinkError. */
    load: loaded.load,
    /** Reads the log, also if its state is known. Rejects with a SinkError. */
    reload: loaded.reload,
    /**
     * Reads a log that does not keep runs again if its present run has changed, and once a minute, since others
     * may write to it. Resolves with whether it was read. Rejects with a SinkError.
     */
    async refresh(): Promise<boolean> {
      const { state, readAtMs } = loaded;
      if (state === undefined) await loaded.load();
      else if (sink.traits.keepsRuns || pumping !== undefined || loaded.loading) return false;
      else if (clock.monotonic() - readAtMs < REFRESH_MS && !await loaded.hasNewRun(state)) {
        return false;
      } else await loaded.reload();
      return true;
    },
    /** Resolves when nothing is queued or under way. */
    async drained(): Promise<void> {
      while (pumping !== undefined) await pumping;
    },
  };
}
