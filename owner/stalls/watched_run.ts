/** Watched run of a job: its watch, the pods that report for it, and whether it should make progress now. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { JobPace, JobStall } from "../../crds/job_stall.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import type { ReportingPod } from "../../trials/stalls/stall_words.ts";
import { beginRun, type Watch } from "../../trials/stalls/watch.ts";

/** Characters of a pod's UID by which a pace says whose it is. */
const RUN_LENGTH = 8;
/** Pods of a job that are told apart. */
const PODS_MAX = 64;

/** Whether the containers of a pod run: those that a kubelet will start again do not, in a pod that is Running. */
export const runs = ({ metadata, status, failure }: WatchedPod): boolean =>
  metadata?.deletionTimestamp === undefined && status?.phase === "Running" &&
  (failure === undefined || failure.runsSince !== undefined);

interface KnownPod extends ReportingPod {
  readonly runs: boolean;
  readonly restarts: number;
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

  constructor(job: JobRef, { nowMs, pace, isOpen, stall }: {
    readonly nowMs: number;
    readonly pace: JobPace | undefined;
    readonly isOpen: boolean;
    readonly stall: JobStall | undefined;
  }) {
    this.job = job;
    this.watch = beginRun(nowMs, pace);
    this.isOpen = isOpen;
    this.stall = stall;
  }

  /** Whether the job is expected to make progress: it runs, and so do the pods that report. */
  get isExpected(): boolean {
    return this.isOpen && this.#pods.values().every((it) => it.runs);
  }

  get pods(): ReportingPod[] {
    return [...this.#pods.values()];
  }

  /** The pace, with the pod that has shown it last, once the program in that has started. */
  get pace(): JobPace | undefined {
    const { pace, signs } = this.watch;
    if (pace === undefined || signs < 2) return pace;
    const [uid] = [...this.#pods].reduce<[string | undefined, number]>(
      ([best, bestMs], [uid, { heardMs = 0 }]) =>
        heardMs >= bestMs ? [uid, heardMs] : [best, bestMs],
      [undefined, 0],
    );
    return { ...pace, ...(uid !== undefined && { run: uid.slice(0, RUN_LENGTH) }) };
  }

  /** Takes note of a pod that has reported, at that time of the wall clock. */
  heard(uid: string, { name, step, heardMs }: ReportingPod): void {
    const known = this.#pods.get(uid) ?? { runs: true, restarts: 0 };
    if (!this.#pods.has(uid) && this.#pods.size >= PODS_MAX) return;
    this.#pods.set(uid, { ...known, name, step, heardMs });
  }

  /** Takes a pod as a cache has it; undefined if it is gone. Returns whether another run begins with it. */
  seen(uid: string, pod: WatchedPod | undefined, nowMs: number): boolean {
    const known = this.#pods.get(uid);
    if (known === undefined) {
      // The pace says that the program in this pod had started before there was this owner.
      const { watch: { pace, signs } } = this;
      const isKnown = pod !== undefined && runs(pod) && pace?.run === uid.slice(0, RUN_LENGTH);
      if (!isKnown || signs > 0) return false;
      const name = pod.metadata?.name ?? "";
      const restarts = pod.failure?.restarts ?? 0;
      this.#pods.set(uid, { name, step: undefined, heardMs: undefined, runs: true, restarts });
      this.watch = beginRun(nowMs, pace, true);
      return false;
    }
    if (pod === undefined) this.#pods.delete(uid);
    else {
      const next = { ...known, runs: runs(pod), restarts: pod.failure?.restarts ?? 0 };
      this.#pods.set(uid, next);
      if (next.runs === known.runs && next.restarts <= known.restarts) return false;
    }
    this.begin(nowMs);
    return true;
  }

  /** Begins another run. */
  begin(nowMs: number): void {
    this.watch = beginRun(nowMs, this.watch.pace);
  }
}
