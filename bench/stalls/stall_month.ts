/** Month of one job that hangs each three hours, with the real stalls of a term, and what is lost by each way to notice it. */
import { type AnyJob, jobRefOf } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { restartOf } from "../../crds/job_state.ts";
import { DEFAULT_STALL_POLICY } from "../../crds/stall_policy.ts";
import { restartStep } from "../../owner/restarts/restart_decision.ts";
import { createStallPolicies } from "../../owner/stalls/stall_policies.ts";
import { openTermStalls } from "../../owner/stalls/term_stalls.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import type { Change } from "../../platform/kube/watching/informer_cache.ts";
import { FakeClock, settlePromises } from "../../tests/support/fake_clock.ts";
import { randomOf } from "./training_life.ts";

const SECOND = 1000;
const HOUR = 3_600_000;
const MONTH = {
  days: 30,
  hangEveryMs: 3 * HOUR,
  restartMs: 60 * SECOND,
  saveEveryMs: 600 * SECOND,
};
/** A job makes a step a second, and says it each second one. */
const PUSH_EVERY = 2;
const BEAT_EVERY = 10;

/** What came of a month. */
export interface Month {
  /** Part of the time whose steps were not made again. */
  readonly goodput: number;
  readonly hangs: number;
  readonly restarts: number;
}

/** A job that trains, hangs, and goes on from its checkpoint once somebody has noticed. */
class HangingJob {
  step = 0;
  saved = 0;
  #savedMs = 0;
  #hangMs: number;
  #backMs: number | undefined;
  hungMs: number | undefined;
  hangs = 0;
  restarts = 0;
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = randomOf(seed);
    this.#hangMs = this.#nextHang(0);
  }

  /** They come at any time between two checkpoints. */
  #nextHang = (afterMs: number) =>
    afterMs + MONTH.hangEveryMs + Math.round((this.#random() - 0.5) * 2 * 600) * SECOND;

  /** A second passes. Returns what happened in it. */
  second(nowMs: number): "steps" | "saves" | "hangs" | "returns" | "nothing" {
    if (this.#backMs !== undefined) {
      if (nowMs < this.#backMs) return "nothing";
      this.#backMs = undefined;
      this.#savedMs = nowMs;
      return "returns";
    }
    if (this.hungMs !== undefined) return "nothing";
    if (nowMs >= this.#hangMs) {
      this.hungMs = nowMs;
      this.hangs += 1;
      return "hangs";
    }
    this.step += 1;
    if (nowMs - this.#savedMs < MONTH.saveEveryMs) return "steps";
    this.saved = this.step;
    this.#savedMs = nowMs;
    return "saves";
  }

  restart(nowMs: number): void {
    this.hungMs = undefined;
    this.#hangMs = this.#nextHang(nowMs);
    this.#backMs = nowMs + MONTH.restartMs;
    this.step = this.saved;
    this.restarts += 1;
  }
}

const SECONDS = MONTH.days * 86_400;
const monthOf = ({ step, hangs, restarts }: HangingJob): Month => ({
  goodput: step / SECONDS,
  hangs,
  restarts,
});

/** A month in which each hang is noticed after so long a time. */
export function noticedAfter(noticeMs: number, seed: number): Month {
  const job = new HangingJob(seed);
  for (let nowMs = 0; nowMs < SECONDS * SECOND; nowMs += SECOND) {
    job.second(nowMs);
    if (job.hungMs !== undefined && nowMs - job.hungMs >= noticeMs) job.restart(nowMs);
  }
  return monthOf(job);
}

/** A month in which hangs are noticed, and the job is restarted, by the stalls of a term. */
export async function noticedByStalls(seed: number): Promise<Month> {
  const job = new HangingJob(seed);
  const clock = new FakeClock(undefined, () => settlePromises(8));
  const listeners: ((change: Change<AnyJob>) => void)[] = [];
  const { apiVersion, kind } = TRAINJOB;
  const metadata = { name: "month", namespace: "default", uid: "uid" };
  let object: AnyJob = {
    apiVersion,
    kind,
    metadata,
    status: { state: "Running", trainerStatus: { lastUpdatedTime: rfc3339(clock.now()) } },
  };
  function set(status: Readonly<Record<string, unknown>>): void {
    const old = object;
    object = { ...old, status: { ...old.status, ...status } };
    listeners.forEach((it) => it({ type: "updated", object, old }));
  }
  const stalls = openTermStalls({
    jobs: new Map([[TRAINJOB, {
      jobs: { get: () => object, onChange: (it) => (listeners.push(it), () => {}) },
    }]]),
    clock,
    leading: () => true,
    writer: {
      told: () => undefined,
      write: () => Promise.resolve(),
    },
    policies: createStallPolicies({ stallPolicy: { ...DEFAULT_STALL_POLICY, action: "Restart" } }),
    acting: {
      restart(asked) {
        const facts = { nowMs: clock.now(), pods: [], step: job.step, isStopping: false };
        const step = restartStep(object, asked, facts);
        if (step.kind !== "write") return Promise.resolve(step);
        job.restart(clock.monotonic());
        set({ restart: step.restart });
        return Promise.resolve({ kind: "stored", restart: step.restart });
      },
      end: () => Promise.reject(new Error("nothing is ended")),
    },
  });
  const over = new AbortController();
  const running = stalls.run(over.signal);
  const ref = jobRefOf(TRAINJOB, object);
  const podAt = (index: number) => {
    const uid = `${index}-${job.restarts}`;
    return { name: `month-node-0-${uid}`, uid };
  };
  for (let second = 0; second < SECONDS; second++) {
    const nowMs = clock.monotonic();
    const lastUpdatedTime = rfc3339(clock.now());
    const what = job.second(nowMs);
    if (what === "returns") {
      const restart = restartOf(object);
      if (restart !== undefined) set({ restart: { ...restart, endTime: lastUpdatedTime } });
    }
    if (what === "saves") set({ checkpoint: { step: job.saved, time: lastUpdatedTime } });
    if ((what === "steps" && second % PUSH_EVERY === 0) || what === "returns") {
      const trainerStatus = { step: job.step, phase: "Training" as const, lastUpdatedTime };
      stalls.reported({ job: ref, pod: podAt(0), trainerStatus, receivedMs: clock.now() });
    }
    // The pod beside the one that froze lives, and waits.
    if (second % BEAT_EVERY === 0 && (what !== "nothing" || job.hungMs !== undefined)) {
      stalls.beat({ job: ref, pod: podAt(1), ranks: [[1, job.step, 0.5, "train.py:88"]] });
    }
    await clock.advance(SECOND);
  }
  over.abort();
  await clock.advance(0);
  await running;
  return monthOf(job);
}
