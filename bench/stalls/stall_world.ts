/** World of made-up jobs under a false clock, with the real stalls of a term: what was found, and what was called stalled and was not. */
import { type AnyJob, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { restartOf, stallOf } from "../../crds/job_state.ts";
import { DEFAULT_STALL_POLICY } from "../../crds/stall_policy.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import {
  type AskedRestart,
  type RestartOutcome,
  restartStep,
} from "../../owner/restarts/restart_decision.ts";
import { createStallPolicies } from "../../owner/stalls/stall_policies.ts";
import { openTermStalls } from "../../owner/stalls/term_stalls.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import type { Change } from "../../platform/kube/watching/informer_cache.ts";
import { FakeClock, settlePromises } from "../../tests/support/fake_clock.ts";
import { type Act, lifeOf, type Program, randomOf } from "./training_life.ts";

const TICK_MS = 1000;
const HOUR_MS = 3_600_000;
/** Time in which a pace is heard again. */
const COLD_MS = 120_000;
/** Interval of heartbeats, and time that a restart takes. */
const [BEAT_MS, RESTART_MS] = [10_000, 60_000];
const RESTART_POLICY = {
  ...DEFAULT_STALL_POLICY,
  action: "Restart",
  needsCheckpoint: false,
} as const;

/** Options of {@link simulate}. */
export interface WorldOptions {
  readonly seed: number;
  readonly jobs: number;
  readonly hours: number;
  readonly hangs: number;
  /** Whether the endpoint is away for ten minutes, the reports of one job are lost, and the owner is killed each hour. */
  readonly troubled: boolean;
}

/** A hang: how long it took until it was told; undefined if it was not. */
export interface Hang {
  readonly job: string;
  readonly program: Program;
  readonly isSlow: boolean;
  /** Whether the pod, or the owner that found it, began less than two minutes before, or behind it. */
  readonly isCold: boolean;
  readonly foundMs: number | undefined;
}

/** A job that was called stalled, and was not. */
export interface FalseStall {
  readonly job: string;
  readonly program: Program;
  readonly atMs: number;
  readonly message: string;
  /** Whether its reports were lost at that time. */
  readonly isCut: boolean;
}

/** What came of it. */
export interface WorldResult {
  readonly hangs: readonly Hang[];
  readonly falseStalls: readonly FalseStall[];
  /** Restarts by policy: of jobs that hang, and of others. */
  readonly restarts: { readonly right: number; readonly wrong: number };
  readonly reports: number;
}

const programOf = (roll: number): Program =>
  roll < 0.45 ? "phases" : roll < 0.75 ? "epochs" : roll < 0.95 ? "plain" : "short";

class MadeUpJob {
  readonly name: string;
  readonly program: Program;
  readonly #life: Generator<Act>;
  #next: Act | undefined;
  /** What restarts have spared it. */
  #sparedMs = 0;
  /** Its last report, which heartbeats repeat. */
  reported: { readonly step: number; readonly atMs: number } | undefined;
  /** Since when it hangs. */
  hungMs: number | undefined;
  podUid: string | undefined;
  /** When that pod began. */
  podMs = 0;

  constructor(name: string, program: Program, life: Generator<Act>) {
    this.name = name;
    this.program = program;
    this.#life = life;
    this.#advance();
  }

  #advance(): void {
    const { value, done } = this.#life.next();
    this.#next = done ? undefined : { ...value, atMs: value.atMs - this.#sparedMs };
  }

  /** Ends its hang at that time. */
  restarts(atMs: number): void {
    if (this.#next === undefined || this.#next.atMs <= atMs) return;
    this.#sparedMs += this.#next.atMs - atMs;
    this.#next = { ...this.#next, atMs };
  }

  /** What has happened up to a time. */
  *until(nowMs: number): Generator<Act> {
    while (this.#next !== undefined && this.#next.atMs <= nowMs) {
      const act = this.#next;
      this.#advance();
      yield act;
    }
  }
}

function objectOf({ name }: MadeUpJob): AnyJob {
  return {
    apiVersion: TRAINJOB.apiVersion,
    kind: TRAINJOB.kind,
    metadata: { name, namespace: "default", uid: `uid-of-${name}` },
    status: {},
  };
}

function podOf({ name }: MadeUpJob, uid: string): WatchedPod {
  const labels = { [TRAINJOB.podLabels.jobName]: name };
  const metadata = { name: `${name}-node-0-0-${uid}`, namespace: "default", uid, labels };
  return { metadata, status: { phase: "Running" } };
}

/** Lets so many jobs live for so many hours. */
export async function simulate(options: WorldOptions): Promise<WorldResult> {
  const { seed, jobs: count, hours, hangs: hangCount, troubled } = options;
  const random = randomOf(seed);
  const endMs = hours * HOUR_MS;
  const clock = new FakeClock(undefined, () => settlePromises(30));
  const jobs = Array.from({ length: count }, (_, at) => {
    const program = programOf(random());
    // A hang is looked for once the job has run for a while.
    const hangMs = at < hangCount ? HOUR_MS * 3 + random() * (endMs - HOUR_MS * 5) : undefined;
    const life = lifeOf({ program, random: randomOf(seed * 100_003 + at), endMs, hangMs });
    return new MadeUpJob(`job-${at}`, program, life);
  });
  const byName = new Map(jobs.map((job) => [job.name, job]));
  const objects = new Map(jobs.map((job) => [job.name, objectOf(job)]));
  const jobListeners: ((change: Change<AnyJob>) => void)[] = [];
  const podListeners: ((change: Change<WatchedPod>) => void)[] = [];
  const [hangs, falseStalls]: [Map<string, Hang>, FalseStall[]] = [new Map(), []];
  let reports = 0;
  const restarts = { right: 0, wrong: 0 };

  /** Stores a restart of a job, by the decision of the real store. */
  function restart(asked: AskedRestart): Promise<RestartOutcome> {
    const [job, object] = [byName.get(asked.job.name), objects.get(asked.job.name)];
    const step = restartStep(object, asked, { nowMs: clock.now(), pods: [], isStopping: false });
    if (step.kind !== "write" || job === undefined) {
      return Promise.resolve(step.kind === "write" ? { kind: "pruned" } : step);
    }
    restarts[job.hungMs === undefined ? "wrong" : "right"] += 1;
    set(asked.job.name, { restart: step.restart });
    if (job.hungMs !== undefined) job.restarts(clock.monotonic() + RESTART_MS);
    return Promise.resolve({ kind: "stored", restart: step.restart });
  }

  function set(name: string, status: Readonly<Record<string, unknown>>): void {
    const old = objects.get(name);
    if (old === undefined) return;
    const object = { ...old, status: { ...old.status, ...status } };
    objects.set(name, object);
    jobListeners.forEach((it) => it({ type: "updated", object, old }));
  }

  const awayMs = troubled ? (hours * 0.6) * HOUR_MS : Infinity;
  const cut = troubled ? jobs.findLast(({ program }) => program !== "short")?.name : undefined;
  const cutMs = (hours * 0.4) * HOUR_MS;
  const isCut = (name: string): boolean => {
    const sinceMs = clock.monotonic() - cutMs;
    return name === cut && sinceMs >= 0 && sinceMs < 2 * HOUR_MS;
  };

  function told(name: string, reason: string, message: string): void {
    const job = byName.get(name);
    if (reason !== "Stalled" || job === undefined) return;
    const { program, hungMs } = job;
    if (hungMs === undefined) {
      falseStalls.push({
        job: name,
        program,
        atMs: clock.monotonic(),
        message,
        isCut: isCut(name),
      });
    } else {
      const { isSlow = false } = hangs.get(name) ?? {};
      const isCold = hungMs - Math.max(openedMs, job.podMs) < COLD_MS;
      const foundMs = clock.monotonic() - hungMs;
      hangs.set(name, { job: name, program, isSlow, isCold, foundMs });
    }
  }

  let openedMs = 0;
  function open() {
    openedMs = clock.monotonic();
    jobListeners.length = 0;
    podListeners.length = 0;
    const over = new AbortController();
    const stalls = openTermStalls({
      jobs: new Map([[TRAINJOB, {
        jobs: {
          get: (key) => objects.get(typeof key === "string" ? key : key.name),
          onChange(listener) {
            jobListeners.push(listener);
            objects.forEach((object) => listener({ type: "added", object }));
            return () => {};
          },
        },
        pods: {
          get: () => undefined,
          onChange(listener) {
            podListeners.push(listener);
            for (const job of jobs) {
              if (job.podUid === undefined) continue;
              listener({ type: "added", object: podOf(job, job.podUid) });
            }
            return () => {};
          },
        },
      }]]),
      clock,
      leading: () => true,
      writer: {
        told: (_, object) => stallOf(object),
        write({ name }, _object, { stall, pace, timeSpent }) {
          set(name, { stalled: stall, ...(pace && { pace }), ...(timeSpent && { timeSpent }) });
          return Promise.resolve();
        },
      },
      events: { record: ({ name = "" }, { reason, message }) => told(name, reason, message) },
      policies: createStallPolicies({ stallPolicy: RESTART_POLICY }),
      acting: {
        restart,
        end: () => Promise.reject(new Error("nothing is ended")),
      },
    });
    const running = stalls.run(over.signal);
    const end = async () => {
      over.abort();
      await clock.advance(0);
      await running;
    };
    return { stalls, end };
  }

  let term = open();

  function act(job: MadeUpJob, ref: JobRef, now: Act): void {
    const nowMs = clock.monotonic();
    switch (now.kind) {
      case "state": {
        const isEnd = now.state === "Complete";
        const conditions = isEnd ? [{ type: "Complete", status: "True" }] : undefined;
        const suspended = [{ type: "Suspended", status: "True" }];
        return set(job.name, {
          state: now.state,
          conditions: now.state === "Suspended" ? suspended : conditions,
        });
      }
      case "hangs":
        job.hungMs = nowMs;
        hangs.set(job.name, {
          job: job.name,
          program: job.program,
          isSlow: now.isSlow,
          isCold: false,
          foundMs: undefined,
        });
        return;
      case "freed": {
        job.hungMs = undefined;
        const restart = restartOf(objects.get(job.name) ?? objectOf(job));
        if (restart !== undefined && restart.endTime === undefined) {
          set(job.name, { restart: { ...restart, endTime: rfc3339(clock.now()) } });
        }
        return;
      }
      case "pod": {
        const [before, uid] = [job.podUid, now.uid];
        job.podUid = uid;
        job.podMs = nowMs;
        job.reported = undefined;
        const changes: Change<WatchedPod>[] = [
          ...(before === undefined
            ? []
            : [{ type: "deleted" as const, object: podOf(job, before) }]),
          ...(uid === undefined ? [] : [{ type: "added" as const, object: podOf(job, uid) }]),
        ];
        return changes.forEach((change) => podListeners.forEach((it) => it(change)));
      }
      case "report": {
        if (job.podUid === undefined) return;
        const trainerStatus = now.sample;
        const { step } = trainerStatus;
        // Where the program is, of which beats tell, whatever was heard.
        if (step !== undefined) job.reported = { step, atMs: nowMs };
        if (isAway(nowMs) || isCut(job.name)) return;
        reports += 1;
        // The ledger would write it: whether a job has reported at all is read from there.
        if (objects.get(job.name)?.status?.["trainerStatus"] === undefined) {
          set(job.name, { trainerStatus: { lastUpdatedTime: trainerStatus.lastUpdatedTime } });
        }
        const pod = { name: `${job.name}-node-0-0-${job.podUid}`, uid: job.podUid };
        term.stalls.reported({ job: ref, pod, trainerStatus, receivedMs: clock.now() });
      }
    }
  }

  const isAway = (nowMs: number) => nowMs >= awayMs && nowMs < awayMs + HOUR_MS / 6;

  /** Another pod of the job says that it lives, and where it is. */
  function beat({ name, podUid, reported }: MadeUpJob, job: JobRef, nowMs: number): void {
    if (podUid === undefined || reported === undefined || isAway(nowMs) || isCut(name)) return;
    const secondsAgo = (nowMs - reported.atMs) / 1000;
    const pod = { name: `${name}-node-0-1-${podUid}`, uid: `${podUid}-1` };
    term.stalls.beat({ job, pod, ranks: [[1, reported.step, secondsAgo, "train.py:88"]] });
  }

  let killMs = HOUR_MS;
  const refs = new Map([...objects].map(([name, it]) => [name, jobRefOf(TRAINJOB, it)]));
  for (let nowMs = 0; nowMs < endMs; nowMs += TICK_MS) {
    for (const [at, job] of jobs.entries()) {
      const ref = refs.get(job.name);
      if (ref === undefined) continue;
      for (const it of job.until(nowMs)) act(job, ref, it);
      if (at % 2 === 0 && (nowMs + at * TICK_MS) % BEAT_MS === 0) beat(job, ref, nowMs);
    }
    await clock.advance(TICK_MS);
    if (troubled && nowMs >= killMs) {
      killMs += HOUR_MS;
      await term.end();
      // Nobody owns the state for a while.
      await clock.advance(15_000);
      nowMs += 15_000;
      term = open();
    }
  }
  await term.end();
  return { hangs: [...hangs.values()], falseStalls, restarts, reports };
}
