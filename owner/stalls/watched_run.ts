/** Watched run of a job: its watch, the pods that report for it, and whether it should make progress now. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { JobPace, JobStall } from "../../crds/job_stall.ts";
import { isEndedPhase } from "../../crds/pod_names.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import type { Beat, Push } from "../../crds/wire/push.ts";
import { stallOfWatch } from "../../trials/stalls/stall_words.ts";
import type { RankPlace } from "../../trials/stalls/suspects.ts";
import { beginRun, reported, stepped, type Watch } from "../../trials/stalls/silence_watch.ts";

/** Characters of a pod's UID by which a pace says whose it is. */
const RUN_LENGTH = 8;
/** Pods of a job that are told apart. */
const PODS_MAX = 4096;

/** A time, by both clocks, in milliseconds. */
export interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** Whether the containers of a pod run: those that a kubelet will start again do not, in a pod that is Running. */
const runs = ({ metadata, status, failure }: WatchedPod): boolean =>
  metadata?.deletionTimestamp === undefined && status?.phase === "Running" &&
  (failure === undefined || failure.runsSince !== undefined);

/** A pod that has reported; undefined times: to an owner before this one. */
interface KnownPod {
  readonly name: string;
  readonly node?: string | undefined;
  readonly heard?: Moment | undefined;
  readonly runs: boolean;
  readonly restarts: number;
  readonly ranks: readonly RankPlace[];
}

/** A run that is watched. */
export class WatchedRun {
  readonly job: JobRef;
  watch: Watch;
  /** Whether the job's object says that it should make progress. */
  isOpen: boolean;
  /** What was told of it. */
  stall: JobStall | undefined;
  readonly #pods = new Map<string, KnownPod>();
  /** The highest step that pushes and heartbeats of this run have shown. */
  #topStep = -1;

  constructor(job: JobRef, { watch, isOpen, stall }: {
    readonly watch: Watch;
    readonly isOpen: boolean;
    readonly stall: JobStall | undefined;
  }) {
    this.job = job;
    this.watch = watch;
    this.isOpen = isOpen;
    this.stall = stall;
  }

  get namespace(): string {
    return this.job.namespace;
  }

  /** The highest step of this run; undefined if it has shown none. */
  get step(): number | undefined {
    return this.#topStep < 0 ? undefined : this.#topStep;
  }

  /** Whether the job is expected to make progress: it runs, and so do the pods that report. */
  get isExpected(): boolean {
    return this.isOpen && this.#pods.values().every((it) => it.runs);
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

  /** The stall of a job that is called stalled at that time. */
  stallAt({ wallMs, monotonicMs }: Moment): JobStall {
    const pods = [...this.#pods.values()].map(({ name, node, heard, ranks }) => ({
      name,
      node,
      ranks,
      heardMs: heard?.wallMs,
      silentMs: heard === undefined ? Infinity : monotonicMs - heard.monotonicMs,
    }));
    return stallOfWatch(this.watch, pods, wallMs - (monotonicMs - this.watch.sinceMs));
  }

  /** Takes a push. Returns whether it is a sign of progress. */
  pushed({ pod, trainerStatus, earlier = [] }: Push, now: Moment): boolean {
    this.#heard(pod, now);
    // What comes as a history could not be said before.
    if (earlier.length > 0) this.watch = { ...this.watch, isWhole: false };
    this.watch = reported(this.watch, trainerStatus, now.monotonicMs);
    this.#topStep = trainerStatus.step ?? this.#topStep;
    return this.watch.sinceMs === now.monotonicMs;
  }

  /**
   * Takes a heartbeat. Returns whether it is a sign of progress: a process has made a step that none had made before, or
   * has gone back. The step of many processes is one.
   */
  beat({ pod, ranks }: Beat, now: Moment): boolean {
    const before = this.#pods.get(pod.uid)?.ranks ?? [];
    const at = ranks.map(([rank, step, , place]): RankPlace => ({ rank, step, place }));
    this.#heard(pod, now, at);
    const { sinceMs } = this.watch;
    for (const [rank, step, seconds] of ranks) {
      const { step: own = -1 } = before.find((it) => it.rank === rank) ?? {};
      if (step <= this.#topStep && step >= own) continue;
      const steps = this.#topStep < 0 ? undefined : step - this.#topStep;
      this.#topStep = step;
      this.watch = stepped(this.watch, { steps, secondsAgo: seconds }, now.monotonicMs);
    }
    this.watch = { ...this.watch, heardMs: now.monotonicMs };
    return this.watch.sinceMs > sinceMs;
  }

  /** Takes a pod as a cache has it; undefined if it is gone. Returns whether another run begins with it. */
  seen(uid: string, pod: WatchedPod | undefined, nowMs: number): boolean {
    const known = this.#pods.get(uid);
    const restarts = pod?.failure?.restarts ?? 0;
    const node = pod?.spec?.nodeName;
    if (known === undefined) {
      // The pace says that the program in this pod had started before there was this owner.
      const { watch: { pace, signs } } = this;
      const isKnown = pod !== undefined && runs(pod) && pace?.run === uid.slice(0, RUN_LENGTH);
      if (!isKnown || signs > 0) return false;
      const name = pod.metadata?.name ?? "";
      this.#pods.set(uid, { name, node, runs: true, restarts, ranks: [] });
      this.watch = beginRun(nowMs, pace, true);
      return false;
    }
    if (pod === undefined || isEndedPhase(pod.status?.phase)) {
      this.#pods.delete(uid);
      // The others go on without one that has done its part.
      if (pod?.status?.phase === "Succeeded") return false;
    } else {
      const next = { ...known, node, runs: runs(pod), restarts };
      this.#pods.set(uid, next);
      if (next.runs === known.runs && next.restarts <= known.restarts) return false;
    }
    this.begin(nowMs);
    return true;
  }

  /** Begins another run. */
  begin(nowMs: number): void {
    this.#topStep = -1;
    this.watch = beginRun(nowMs, this.watch.pace);
  }

  #heard({ name, uid }: Push["pod"], heard: Moment, ranks?: readonly RankPlace[]): void {
    const known = this.#pods.get(uid) ?? { name, runs: true, restarts: 0, ranks: [] };
    if (!this.#pods.has(uid) && this.#pods.size >= PODS_MAX) return;
    this.#pods.set(uid, { ...known, heard, ...(ranks && { ranks }) });
  }
}
