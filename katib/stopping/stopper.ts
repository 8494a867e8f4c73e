/** Trial stopper: writes the end of the Trial, then of its job, each once however often it is asked. */
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import type { AnyJob } from "../../crds/job_kind.ts";
import { KINDS } from "../../crds/kinds.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import type { Trial } from "../../crds/trial.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { KubeMeta, ObjectKey, ResourceKind } from "../../kube/resource.ts";
import { getOrUndefined } from "../../kube/upsert.ts";
import type { Stop, StopOutcome, Stopper } from "../adapter/adapter.ts";
import { aboutJob, aboutTrial } from "../../trials/plan/notice.ts";
import { jobStop, type StopWrite, trialStop } from "./stop_writes.ts";

/** Looks at the world before a stop gives way to others; progress alone is written once a second. */
const ATTEMPTS = 5;
/** Stops of which it is remembered what was written of them here and not told yet. */
const REMEMBERED = 10_000;

/** What stopping needs. */
export interface StopperOptions {
  readonly client: Pick<KubeClient, "get" | "patch">;
  readonly clock: Pick<Clock, "now">;
  readonly events: Pick<EventRecorder, "record">;
  /** Whether this owner may still write: asked before each write. */
  readonly leading: () => boolean;
  /** Deadline of each call, in milliseconds: it ends before another owner may begin (docs/decisions/0014). */
  readonly deadlineMs: number;
}

/** The world of one stop, as read at one moment; what is another's, or on its way out, is absent. */
interface Seen {
  readonly trial: Trial | undefined;
  readonly job: AnyJob | undefined;
}

/** Somebody changed what this attempt goes by: look anew. */
const AGAIN = Symbol("again");

function isThere(metadata: KubeMeta, uid: string): boolean {
  return metadata.uid === uid && metadata.deletionTimestamp === undefined;
}

class TrialStopper implements Stopper {
  /** By the UID of the job: whose last write may have come through without an answer. */
  readonly #unanswered = createBoundedCache<true>(REMEMBERED);
  /** By the UID of the job: whose Trial's end was written here, or may have been. */
  readonly #ended = createBoundedCache<true>(REMEMBERED);

  constructor(private readonly options: StopperOptions) {}

  async stop(stop: Stop, signal: AbortSignal): Promise<StopOutcome> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const outcome = await this.#attempt(stop, signal);
      if (outcome !== AGAIN) return outcome;
    }
    const { kind, namespace, name } = stop.plan.job;
    throw new Error(
      `${kind.kind} ${namespace}/${name} or its Trial changed at each of ${ATTEMPTS} looks`,
    );
  }

  async #attempt(stop: Stop, signal: AbortSignal): Promise<StopOutcome | typeof AGAIN> {
    const { key } = stop.plan;
    const seen = await this.#look(stop, signal);
    if (key.kind === "job") return await this.#stopJob(stop, seen, signal);
    const { trial, job } = seen;
    if (trial === undefined) return "gone";
    const now = this.options.clock.now();
    const end = trialStop(trial, stop, now);
    if (end.kind === "finished") return "finished before";
    if (end.kind === "patch") {
      // What has ended by itself is for Katib to judge; what is gone has no end to write.
      if (job === undefined) return "gone";
      if (jobStop(stop.plan.job.kind, job, stop, now).kind === "finished") return "finished before";
      if (!await this.#patch(KINDS.trial, key, end, signal, () => this.#hasEnded(stop))) {
        return AGAIN;
      }
      this.#hasEnded(stop);
    }
    const outcome = await this.#stopJob(stop, seen, signal);
    if (outcome === AGAIN) return AGAIN;
    // Katib may have deleted the job, or seen it end, between the two writes.
    if (outcome !== "stopped" && this.#ended.has(stop.plan.job.uid)) this.#tell(stop, seen);
    return "stopped";
  }

  #hasEnded({ plan: { job } }: Stop): void {
    this.#ended.set(job.uid, true);
  }

  async #stopJob(
    stop: Stop,
    seen: Seen,
    signal: AbortSignal,
  ): Promise<StopOutcome | typeof AGAIN> {
    if (seen.job === undefined) return "gone";
    const { job } = stop.plan;
    const end = jobStop(job.kind, seen.job, stop, this.options.clock.now());
    if (end.kind === "finished") return "finished before";
    // A stop that is found done was told by another, unless it was done here and nobody said so.
    const isOwn = end.kind === "patch" || this.#unanswered.has(job.uid);
    if (end.kind === "patch") {
      const unanswered = () => void this.#unanswered.set(job.uid, true);
      if (!await this.#patch(job.kind, job, end, signal, unanswered)) return AGAIN;
    }
    if (isOwn) this.#tell(stop, seen);
    return "stopped";
  }

  async #look({ plan: { key, job: ref } }: Stop, signal: AbortSignal): Promise<Seen> {
    const [trial, job] = await Promise.all([
      key.kind === "trial" ? this.#get(KINDS.trial, key, signal) : undefined,
      this.#get(ref.kind, ref, signal),
    ]);
    return {
      trial: trial && isThere(trial.metadata, key.uid) ? trial : undefined,
      job: job && isThere(job.metadata, ref.uid) ? job : undefined,
    };
  }

  #get<T>(
    kind: ResourceKind<T>,
    { namespace, name }: ObjectKey,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const { client, deadlineMs } = this.options;
    return getOrUndefined(client, kind, { namespace, name }, { signal, deadlineMs });
  }

  /** Answers false where somebody was faster. What else goes wrong may have been written or not. */
  async #patch(
    kind: ResourceKind<unknown>,
    { namespace, name }: ObjectKey,
    { body }: Extract<StopWrite, { kind: "patch" }>,
    signal: AbortSignal,
    onUnanswered: () => void,
  ): Promise<boolean> {
    const { client, deadlineMs, leading } = this.options;
    if (!leading()) throw new Error("the lease was not renewed in time");
    const options = { subresource: "status", signal, deadlineMs };
    try {
      await client.patch(kind, { namespace, name }, { type: "merge", body }, options);
      return true;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      onUnanswered();
      throw error;
    }
  }

  /** Once, by whoever wrote the last of it. */
  #tell({ plan: { job: ref }, verdict }: Stop, { trial, job }: Seen): void {
    this.#unanswered.delete(ref.uid);
    this.#ended.delete(ref.uid);
    const { events } = this.options;
    const message = `stopped early: ${verdict.message}`;
    const event = { type: "Normal", reason: EVENT_REASONS.earlyStopped, message } as const;
    if (trial !== undefined) events.record(aboutTrial(trial), event);
    if (job !== undefined) events.record(aboutJob(ref), event);
  }
}

/** Creates a {@link Stopper}. It is stateless but for what it still has to tell. */
export function createStopper(options: StopperOptions): Stopper {
  return new TrialStopper(options);
}
