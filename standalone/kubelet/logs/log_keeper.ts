/** Log keeper: what becomes of the logs of ended pods, within bounds of bytes, age and count. */
import { getLogger } from "@logtape/logtape";
import type { JobKinds } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { containerStatuses } from "../../../crds/pod_containers.ts";
import type { Clock } from "../../../platform/base/clock.ts";
import { repeat } from "../../../platform/base/repeat.ts";
import { createSleeper } from "../../../platform/base/sleeper.ts";
import { rfc3339Micro } from "../../../platform/base/timestamps.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { isAbsentOrForbidden, messageOf } from "../../../platform/kube/errors.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { withMetadataOnly } from "../../../platform/kube/resource.ts";
import { createInformer } from "../../../platform/kube/watching/informer.ts";
import { deleteExactly } from "../../../platform/kit/deletion.ts";
import { endedAt, hasEnded } from "../../jobs/pods.ts";
import { beyondBounds, type LogBounds } from "./log_bounds.ts";
import { hasRun, type PodRef } from "./log_keys.ts";
import type { LogStore } from "./logs.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Between two looks at the ages of logs, in milliseconds. */
const LOOK_MS = 600_000;
/** After a change, so that the end of many pods is one look, in milliseconds. */
const SETTLE_MS = 1_000;
const BACKOFF = { firstMs: 1_000, longestMs: 60_000 };
const CALL = { deadlineMs: 10_000 };

/** What logs of jobs are kept by, beyond their pods. */
export interface LogKeeping {
  readonly client: KubeClient;
  /** Jobs whose pods' logs are kept as long as the job is there. */
  readonly kinds: Pick<JobKinds, "ofPod">;
  readonly bounds: LogBounds;
}

/** Options of {@link createLogKeeper}. */
export interface LogKeeperOptions extends LogKeeping {
  readonly clock: Clock;
  readonly logs: LogStore;
  /** Returns the pods of the node. */
  readonly pods: () => readonly Pod[];
}

/** The keeper. */
export type LogKeeper = ReturnType<typeof createLogKeeper>;

const uidOf = ({ metadata }: Pod) => metadata?.uid ?? "";

/** Creates a keeper. */
export function createLogKeeper(options: LogKeeperOptions) {
  const { client, clock, kinds, bounds, logs, pods } = options;
  const kept = createInformer({ client, clock, kind: KINDS.keptLog });
  const sleeper = createSleeper(clock);
  /** Bytes of pods that have ended, which write nothing more. */
  const sizes = new Map<string, number>();
  /** UIDs of pods of which it was said that their logs stay for now. */
  const told = new Set<string>();

  /** The job of a pod, if it is there and stays; the pod has its name only. */
  async function jobOf({ metadata }: Pod, signal: AbortSignal) {
    const labels = metadata?.labels ?? {};
    const [kind] = kinds.ofPod(labels);
    if (kind === undefined) return undefined;
    const key = { namespace: metadata?.namespace, name: labels[kind.podLabels.jobName] ?? "" };
    const job = await client.get(withMetadataOnly(kind), key, { ...CALL, signal });
    const { uid = "", creationTimestamp = "", deletionTimestamp } = job.metadata ?? {};
    const isLater = Date.parse(creationTimestamp) > Date.parse(metadata?.creationTimestamp ?? "");
    if (isLater || deletionTimestamp !== undefined) return undefined;
    return { apiVersion: kind.apiVersion, kind: kind.kind, name: key.name, uid };
  }

  async function keep(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { name, namespace, labels } = pod.metadata ?? {};
    try {
      const isSilent = await logs.size(uidOf(pod)) === 0;
      // One that never began leaves nothing; of one that ran and printed nothing that is what there is to say.
      if (isSilent && !containerStatuses(pod).some(hasRun)) return false;
      const job = await jobOf(pod, signal);
      if (job === undefined) return false;
      const metadata = { name: uidOf(pod), namespace, labels, ownerReferences: [job] };
      const spec = { pod, gone: rfc3339Micro(clock.now()), ...(isSilent && { isSilent }) };
      await client.create(KINDS.keptLog, { metadata, spec }, { ...CALL, signal });
      return true;
    } catch (error) {
      // The job is gone, or its namespace is being deleted.
      if (isAbsentOrForbidden(error) || signal.aborted) return false;
      logger.warn("The log of a pod that is gone is not kept", {
        pod: name,
        error: messageOf(error),
      });
      return false;
    }
  }

  /** All pods that have ended and have logs, and how each loses them. */
  function ended(signal: AbortSignal) {
    const there = pods().filter((pod) => hasEnded(pod) && !logs.isDiscarded(uidOf(pod)));
    return [
      ...there.map((pod) => ({
        uid: uidOf(pod),
        endedMs: endedAt(pod, clock.now()),
        drop: (): Promise<unknown> => logs.discard(uidOf(pod)),
      })),
      ...kept.list().map((object) => ({
        uid: uidOf(object.spec.pod),
        endedMs: Date.parse(object.spec.gone),
        goneOf: object.metadata?.ownerReferences?.[0]?.uid,
        drop: () => deleteExactly(client, KINDS.keptLog, object, { ...CALL, signal }),
      })),
    ];
  }

  /** Waits for a step about one log. Its failure is said once of that log, and does not stop what is done to others. */
  async function sayOnce<T>(uid: string, step: Promise<T>, signal: AbortSignal) {
    try {
      return await step;
    } catch (error) {
      if (signal.aborted || told.has(uid)) return undefined;
      told.add(uid);
      logger.warn("A log may stay beyond the bounds for now", { uid, error: messageOf(error) });
      return undefined;
    }
  }

  async function pass(signal: AbortSignal): Promise<number> {
    const all = [];
    for (const it of ended(signal)) {
      const bytes = sizes.get(it.uid) ?? await sayOnce(it.uid, logs.size(it.uid), signal);
      all.push({ ...it, bytes });
    }
    sizes.clear();
    for (const { uid, bytes } of all) if (bytes !== undefined) sizes.set(uid, bytes);
    for (const uid of told.difference(new Set(all.map(({ uid }) => uid)))) told.delete(uid);
    for (const { uid, drop } of beyondBounds(all, bounds, clock.now())) {
      if (signal.aborted) break;
      await sayOnce(uid, drop(), signal);
    }
    return told.size > 0 ? BACKOFF.longestMs : LOOK_MS;
  }

  return {
    /** Keeps the logs of a pod whose object is gone, if its job is there. Returns whether it does. Never throws. */
    keep,
    /** Returns a pod that is gone and whose logs are kept; of several of its name the newest, or the one before that UID. */
    find({ namespace, name, uid }: PodRef, before?: string): Pod | undefined {
      const named = kept.list(namespace)
        .filter(({ spec: { pod: { metadata } } }) => metadata?.name === name)
        .sort((one, other) => Date.parse(other.spec.gone) - Date.parse(one.spec.gone))
        .map(({ spec }) => spec.pod);
      if (before === undefined) return named.find((it) => uid === undefined || uidOf(it) === uid);
      return named[named.findIndex((it) => uidOf(it) === before) + 1];
    },
    /** UIDs of all such pods. */
    uids: (): ReadonlySet<string | undefined> =>
      new Set(kept.list().map(({ metadata }) => metadata?.name)),
    /** Says that a pod has ended. */
    wake: sleeper.wake,
    /** Resolves when what is kept is known, or `signal` aborts. */
    whenSynced: (signal: AbortSignal): Promise<boolean> => kept.whenSynced(signal),
    async run(signal: AbortSignal): Promise<void> {
      kept.onChange(({ type, object }) => {
        if (type === "deleted") logs.remove(object.metadata?.name ?? "");
        else if (type === "added") sleeper.wake();
      });
      const random = Math.random;
      const onFailure = (error: unknown) =>
        logger.warn("Logs beyond the bounds stay for now", { error: messageOf(error) });
      const loop = {
        pass,
        sleeper,
        settleMs: SETTLE_MS,
        clock,
        random,
        backoff: BACKOFF,
        onFailure,
      };
      await Promise.all([
        kept.run(signal),
        kept.whenSynced(signal).then(() => repeat(loop, signal)),
      ]);
    },
  };
}
