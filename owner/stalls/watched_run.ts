/** Watched run of a job: its watch, the pods that report for it, and whether it should make progress now. */
import type { JobRef } from "../../crds/job_kind.ts";
import { type JobPace, type JobStall, STALL_LIMITS } from "../../crds/job_stall.ts";
import type { JobTimeSpent, Spending } from "../../crds/job_time_spent.ts";
import { isEndedPhase } from "../../crds/pod_names.ts";
import { stateOfPod } from "../../crds/state_of_pod.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import type { Beat, Push } from "../../crds/wire/push.ts";
import type { StallPolicy } from "../../crds/stall_policy.ts";
import type { StallFacts } from "../../trials/stalls/stall_action.ts";
import { isNewsOfPace } from "../../trials/stalls/pace_news.ts";
import { isWitness } from "../../trials/stalls/stall_verdict.ts";
import { type BesideStall, stallOfWatch } from "../../trials/stalls/stall_words.ts";
import type { RankPlace } from "../../trials/stalls/suspects.ts";
import {
  beginRun,
  excused,
  phaseOf,
  reported,
  stepped,
  type Watch,
} from "../../trials/stalls/silence_watch.ts";
import {
  continued,
  countedFrom,
  isLost,
  keptTimeSpent,
  type Moment,
  nextRunOf,
  spentOn,
  type TimeSpent,
} from "../../trials/stalls/time_spent.ts";
import type { StallNaming } from "./stall_naming.ts";

/** Characters of a pod's UID by which a pace says whose it is. */
const RUN_LENGTH = 8;
/** Pods of a job that are told apart. */
const PODS_MAX = 4096;

/** Whether the containers of a pod run: those that a kubelet will start again do not, in a pod that is Running. */
const runs = ({ metadata, status, failure }: WatchedPod): boolean =>
  metadata?.deletionTimestamp === undefined && status?.phase === "Running" &&
  (failure === undefined || failure.runsSince !== undefined);

/** A pod that has reported; undefined times: to an owner before this one. */
interface KnownPod {
  readonly name: string;
  readonly heard?: Moment | undefined;
  readonly runs: boolean;
  readonly restarts: number;
  readonly ranks: readonly RankPlace[];
}

/** What a run is made of. */
export interface RunOptions {
  readonly watch: Watch;
  readonly isOpen: boolean;
  readonly policy: StallPolicy;
  readonly stall: JobStall | undefined;
  readonly spent: TimeSpent;
  readonly timeDueMs: number;
  /** The pace that its object has, and when another may be written. */
  readonly pace: JobPace | undefined;
  readonly paceDueMs: number;
  /** Returns a pod of the job as a cache has it. Undefined: no cache has pods of its kind. */
  readonly podOf: ((name: string) => WatchedPod | undefined) | undefined;
  /** Called with seconds that were counted. */
  readonly onSpent?: ((on: Spending, seconds: number) => void) | undefined;
}

/** A run that is watched. */
export class WatchedRun {
  readonly job: JobRef;
  watch: Watch;
  /** Whether the job's object says that it should make progress. */
  isOpen: boolean;
  /** What was told of it. */
  stall: JobStall | undefined;
  /** Whether it is stalled, and left alone as one of a storm. */
  isHeld = false;
  /** Whether it is shown as quiet. */
  isQuiet = false;
  #spent: TimeSpent;
  /** What its object shall say of its time, and when that is due to be said anew. */
  timeSpent: JobTimeSpent | undefined;
  timeDueMs: number;
  /** The pace that its object shall say, and when that may be another one. */
  keptPace: JobPace | undefined;
  #paceDueMs: number;
  /** When it was called stalled, on the wall clock, in milliseconds, unless it has made a step since. */
  toldMs: number | undefined;
  naming: StallNaming | undefined;
  /** What becomes of it when it is stalled. */
  policy: StallPolicy;
  /** What is said of that: why nothing is done. */
  note: string | undefined;
  readonly #pods = new Map<string, KnownPod>();
  /** UIDs of the pods that a cache shows to run, whether they have reported or not. */
  readonly #running = new Set<string>();
  /** UIDs of the last pods that have ended: what is heard of one later was on its way. */
  readonly #ended = new Set<string>();
  /** The highest step that pushes and heartbeats of this run have shown. */
  #topStep = -1;

  constructor(job: JobRef, private readonly options: RunOptions) {
    const { watch, isOpen, policy, stall, spent, timeDueMs, pace, paceDueMs } = options;
    this.job = job;
    this.#spent = spent;
    this.timeDueMs = timeDueMs;
    this.keptPace = pace;
    this.#paceDueMs = paceDueMs;
    this.watch = watch;
    this.isOpen = isOpen;
    this.policy = policy;
    this.stall = stall;
  }

  get namespace(): string {
    return this.job.namespace;
  }

  /** The highest step of this run; undefined if it has shown none. */
  get step(): number | undefined {
    return this.#topStep < 0 ? undefined : this.#topStep;
  }

  /** Whether the job is expected to make progress: it runs, and so do the pods that report, or any before those have. */
  get isExpected(): boolean {
    const mayRun = this.#pods.size > 0 || this.#running.size > 0 ||
      this.options.podOf === undefined;
    return this.isOpen && mayRun && this.#pods.values().every((it) => it.runs);
  }

  /** The pace, with the pod that has shown it last, once the program in that has started. */
  get pace(): JobPace | undefined {
    const { pace, signs } = this.watch;
    if (pace === undefined || signs < 2) return pace;
    const [uid] = [...this.#pods].reduce<[string | undefined, number]>(
      ([best, bestMs], [uid, { heard }]) => {
        const heardMs = heard?.wallMs ?? 0;
        return heardMs >= bestMs ? [uid, heardMs] : [best, bestMs];
      },
      [undefined, 0],
    );
    return { ...pace, ...(uid !== undefined && { run: uid.slice(0, RUN_LENGTH) }) };
  }

  /** What is decided by of a stalled run, beside its job's object. */
  stallFacts(nowMs: number) {
    const { pace: { stepSeconds = 0, intervalSeconds = 0 } = {} } = this.watch;
    const standOut = this.stall?.pods?.map(({ node }) => node) ??
      [...this.#pods].map(([uid, { name }]) => this.#podNow(name, uid)?.spec?.nodeName);
    return {
      step: this.step,
      stepsPerReport: stepSeconds > 0 ? Math.ceil(intervalSeconds / stepSeconds) : 1,
      nodes: [...new Set(standOut.filter((it) => it !== undefined))].slice(0, STALL_LIMITS.pods),
      hasWitness: this.#pods.values().some(({ heard: { monotonicMs = -Infinity } = {} }) =>
        isWitness(this.watch, monotonicMs, nowMs, this.policy)
      ),
      isStarting: phaseOf(this.watch) === "Starting",
    } satisfies Partial<StallFacts>;
  }

  /** The stall of a job that is called stalled at that time, with what is known beside. */
  stallAt({ wallMs, monotonicMs }: Moment, beside?: BesideStall): JobStall {
    const pods = [...this.#pods].map(([uid, { name, heard, ranks }]) => {
      const pod = this.#podNow(name, uid);
      return {
        name,
        node: pod?.spec?.nodeName,
        state: stateOfPod(pod)?.slice(0, STALL_LIMITS.stateLength),
        ranks,
        heardMs: heard?.wallMs,
        silentMs: heard === undefined ? Infinity : monotonicMs - heard.monotonicMs,
      };
    });
    // The silence of a stall that was told may have begun anew; that of the job has not.
    const sinceMs = Date.parse(this.stall?.since ?? "") ||
      wallMs - (monotonicMs - this.watch.sinceMs);
    return stallOfWatch(this.watch, pods, sinceMs, beside);
  }

  /** Takes a push. Returns whether it is a sign of progress. */
  pushed({ pod, trainerStatus, earlier = [] }: Push, now: Moment): boolean {
    this.#heard(pod, now);
    // What comes as a history could not be said before.
    if (earlier.length > 0) this.watch = { ...this.watch, isWhole: false };
    const before = this.watch;
    this.watch = reported(before, trainerStatus, now.monotonicMs);
    this.#topStep = trainerStatus.step ?? this.#topStep;
    return this.watch.sinceMs === now.monotonicMs && this.#counted(before);
  }

  /**
   * Takes a heartbeat. Returns whether it is a sign of progress: a process has made a step that none had made before, or
   * has gone back. The step of many processes is one.
   */
  beat({ pod, ranks }: Beat, now: Moment): boolean {
    const known = this.#pods.get(pod.uid)?.ranks ?? [];
    const at = ranks.map(([rank, step, , place]): RankPlace => ({ rank, step, place }));
    this.#heard(pod, now, at);
    const before = this.watch;
    for (const [rank, step, seconds] of ranks) {
      const { step: own = -1 } = known.find((it) => it.rank === rank) ?? {};
      if (step <= this.#topStep && step >= own) continue;
      const steps = this.#topStep < 0 ? undefined : step - this.#topStep;
      this.#topStep = step;
      this.watch = stepped(this.watch, { steps, secondsAgo: seconds }, now.monotonicMs);
    }
    this.watch = { ...this.watch, heardMs: now.monotonicMs };
    return this.watch.sinceMs > before.sinceMs && this.#counted(before);
  }

  /** Takes a pod as a cache has it; undefined if it is gone. Returns whether another run begins with it. */
  seen(uid: string, pod: WatchedPod | undefined, nowMs: number): boolean {
    const known = this.#pods.get(uid);
    const restarts = pod?.failure?.restarts ?? 0;
    const isOver = pod === undefined || isEndedPhase(pod.status?.phase);
    if (isOver) this.#noteEnd(uid);
    this.#show(uid, pod !== undefined && runs(pod), nowMs);
    if (known === undefined) {
      // The pace says that the program in this pod had started before there was this owner.
      const { watch: { pace, signs } } = this;
      const isKnown = pod !== undefined && runs(pod) && pace?.run === uid.slice(0, RUN_LENGTH);
      if (!isKnown || signs > 0) return false;
      const name = pod.metadata?.name ?? "";
      this.#pods.set(uid, { name, runs: true, restarts, ranks: [] });
      this.watch = beginRun(nowMs, pace, true);
      this.#spent = continued(this.#spent);
      return false;
    }
    if (isOver) {
      this.#pods.delete(uid);
      // The others go on without one that has done its part, and was not told to go.
      const { status, metadata } = pod ?? {};
      if (status?.phase === "Succeeded" && metadata?.deletionTimestamp === undefined) return false;
    } else {
      const next = { ...known, runs: runs(pod), restarts };
      this.#pods.set(uid, next);
      if (next.runs === known.runs && next.restarts <= known.restarts) return false;
    }
    this.begin(nowMs);
    return true;
  }

  #noteEnd(uid: string): void {
    this.#ended.add(uid);
    const [oldest = ""] = this.#ended;
    if (this.#ended.size > PODS_MAX) this.#ended.delete(oldest);
  }

  /** Notes whether a pod runs. The time of a start, and all silence, counts from the first one that does. */
  #show(uid: string, isRunning: boolean, nowMs: number): void {
    if (!isRunning) return void this.#running.delete(uid);
    if (this.#running.size === 0 && this.#pods.size === 0) this.watch = excused(this.watch, nowMs);
    if (this.#running.size < PODS_MAX) this.#running.add(uid);
  }

  /** Begins another run. */
  begin(nowMs: number): void {
    this.#countStall(nowMs);
    this.#topStep = -1;
    this.watch = beginRun(nowMs, this.watch.pace);
    this.#spent = nextRunOf(this.#spent, nowMs);
    if (this.#pods.size > 0 && this.isExpected) this.#spent = countedFrom(this.#spent, nowMs);
  }

  /** Says anew what the job's time went to; in so many milliseconds again. */
  keepTime(now: Moment, againMs: number): void {
    this.#countStall(now.monotonicMs);
    this.timeSpent = keptTimeSpent(this.#spent, now);
    this.timeDueMs = now.monotonicMs + againMs;
  }

  /** Keeps its pace, if that is news, and not again for so many milliseconds. Returns whether it was. */
  keepPace(nowMs: number, againMs: number): boolean {
    if (nowMs < this.#paceDueMs) return false;
    const { pace } = this;
    if (pace === undefined || !isNewsOfPace(this.keptPace, pace)) return false;
    this.#paceDueMs = nowMs + againMs;
    this.keptPace = pace;
    return true;
  }

  /** A stall is counted while it lasts. */
  #countStall(nowMs: number): void {
    if (this.stall !== undefined) this.#spend("stalled", nowMs);
  }

  /** Counts the time up to the last sign. */
  #counted(before: Watch): true {
    const made = isLost(this.#spent, this.#topStep) ? "lost" : "productive";
    const on = phaseOf(before) === "Starting" ? "starting" : made;
    this.#spend(this.stall === undefined ? on : "stalled", this.watch.sinceMs);
    return true;
  }

  #spend(on: Spending, atMs: number): void {
    const before = this.#spent;
    this.#spent = spentOn(before, on, atMs, this.#topStep);
    this.options.onSpent?.(on, this.#spent.seconds[on] - before.seconds[on]);
  }

  /** The pod, if a cache has that very one. */
  #podNow(name: string, uid: string): WatchedPod | undefined {
    const pod = this.options.podOf?.(name);
    return pod?.metadata?.uid === uid ? pod : undefined;
  }

  #heard({ name, uid }: Push["pod"], heard: Moment, ranks?: readonly RankPlace[]): void {
    if (this.#ended.has(uid)) return;
    const known = this.#pods.get(uid) ?? { name, runs: true, restarts: 0, ranks: [] };
    if (!this.#pods.has(uid) && this.#pods.size >= PODS_MAX) return;
    this.#pods.set(uid, { ...known, heard, ...(ranks && { ranks }) });
    if (this.#spent.untilMs === undefined && this.isExpected) {
      const startMs = Date.parse(this.#podNow(name, uid)?.status?.startTime ?? "");
      const ranMs = Math.max(0, heard.wallMs - startMs) || 0;
      this.#spent = countedFrom(this.#spent, heard.monotonicMs - ranMs);
    }
  }
}
