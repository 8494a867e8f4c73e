/** Scene of the stalls of a term: its real parts over a fake cluster, whose caches are told by hand. */
import assert from "node:assert/strict";
import type { AnyJob, JobRef } from "../../../crds/job_kind.ts";
import { jobRefOf } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { DEFAULT_STALL_POLICY, type StallPolicy } from "../../../crds/stall_policy.ts";
import type { WatchedPod } from "../../../crds/watched.ts";
import type { Beat, Push } from "../../../crds/wire/push.ts";
import { createRestartStore, type RestartStore } from "../../../owner/restarts/restart_store.ts";
import { createStallEnd } from "../../../owner/stalls/stall_end.ts";
import { createStallPolicies } from "../../../owner/stalls/stall_policies.ts";
import { createStallWriter } from "../../../owner/stalls/stall_writer.ts";
import { openTermStalls } from "../../../owner/stalls/term_stalls.ts";
import { compact } from "../../../platform/base/json.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import type { EventText } from "../../../platform/kube/event_object.ts";
import type { EventRecorder } from "../../../platform/kube/events.ts";
import type { Change } from "../../../platform/kube/watching/informer_cache.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";

/** A job's place in the scene, and what changes of it. */
export type Status = Readonly<Record<string, unknown>>;

/** A job that has reported. */
export const RUNNING: Status = {
  state: "Running",
  trainerStatus: { progressPercentage: 1, lastUpdatedTime: "2026-01-01T00:00:00Z" },
};

/** A pod of a job. */
export function pod(job: string, uid: string, more: Partial<WatchedPod> = {}): WatchedPod {
  return {
    metadata: {
      name: `${job}-node-0-0-${uid}`,
      namespace: "default",
      uid,
      labels: { "trainer.kubeflow.org/trainjob-name": job },
    },
    status: { phase: "Running" },
    ...more,
  };
}

/** A term over jobs of a fake cluster; the caches are told by hand. */
export function scene(
  { leading = true, drops = false, policy, runtimePolicy, failing }: {
    readonly leading?: boolean;
    readonly drops?: boolean;
    /** That of the manager. */
    readonly policy?: Partial<StallPolicy>;
    readonly runtimePolicy?: string;
    /** Called before and after each write; what it throws is its outcome. */
    readonly failing?: (when: "before" | "after") => void;
  } = {},
) {
  const clock = new FakeClock(undefined, () => settlePromises(120));
  const cluster = new MemoryCluster();
  const objects = new Map<string, AnyJob>();
  const listeners: ((change: Change<AnyJob>) => void)[] = [];
  const pods = new Map<string, WatchedPod>();
  const podListeners: ((change: Change<WatchedPod>) => void)[] = [];
  const events: { name: string; text: EventText }[] = [];
  const writes: string[] = [];
  const quiet: string[] = [];
  const spent = new Map<string, number>();
  const recorder: Pick<EventRecorder, "record"> = {
    record: ({ name = "" }, text) => void events.push({ name, text }),
  };
  const client: Pick<KubeClient, "get" | "patch"> = {
    get: (kind, key, options) => cluster.client().get(kind, key, options),
    async patch(kind, key, patch, options) {
      failing?.("before");
      writes.push(`${key.name} ${options?.subresource ?? ""}`);
      const now = await cluster.client().patch(TRAINJOB, key, patch, options);
      const kept = drops ? { ...now, status: compact({ ...now.status, stalled: undefined }) } : now;
      // It comes back to the caches at once.
      if (!drops) see(kept);
      failing?.("after");
      return kind.parse(kept);
    },
  };
  const state = { leading };
  function open() {
    const stalls = openTermStalls({
      jobs: new Map([[TRAINJOB, {
        jobs: {
          get: (key) => objects.get(typeof key === "string" ? key : key.name),
          onChange(listener) {
            listeners.push(listener);
            objects.forEach((object) => listener({ type: "added", object }));
            return () => {};
          },
        },
        pods: {
          get: (key) => pods.get(typeof key === "string" ? key : key.name),
          onChange(listener) {
            podListeners.push(listener);
            pods.forEach((object) => listener({ type: "added", object }));
            return () => {};
          },
        },
      }]]),
      clock,
      leading: () => state.leading,
      writer: createStallWriter({ client, keepsProgress: () => true }),
      events: recorder,
      onQuiet: ({ name }, mark) => void quiet.push(`${name} ${mark?.text ?? "goes on"}`),
      onSpent: (on, seconds) => void spent.set(on, (spent.get(on) ?? 0) + seconds),
      policies: createStallPolicies({
        stallPolicy: { ...DEFAULT_STALL_POLICY, ...policy },
        runtimePolicy: () => runtimePolicy,
        events: recorder,
      }),
      acting: {
        restart: (asked, signal) => restarts.store(asked, signal),
        end: createStallEnd({ client, events: recorder, clock, deadlineMs: 1000 }),
      },
    });
    const restarts: RestartStore = createRestartStore({
      client,
      jobs: new Map(),
      keepsProgress: () => true,
      isStopping: () => false,
      lastStep: stalls.lastStep,
      events: recorder,
      clock,
      deadlineMs: 1000,
    });
    const over = new AbortController();
    return { stalls, over, running: stalls.run(over.signal) };
  }
  let term = open();

  function see(object: AnyJob, isGone = false): void {
    const { name = "" } = object.metadata;
    const old = objects.get(name);
    if (isGone) objects.delete(name);
    else objects.set(name, object);
    const type = isGone ? "deleted" : old === undefined ? "added" : "updated";
    listeners.forEach((it) => it({ type, object, ...(type === "updated" && { old }) }));
  }

  const refOf = (name: string): JobRef => {
    const object = objects.get(name);
    assert.ok(object !== undefined);
    return jobRefOf(TRAINJOB, object);
  };
  return {
    clock,
    events,
    writes,
    quiet,
    spent,
    state,
    see,
    /** Makes a job with that status. */
    async add(
      name: string,
      status: Status = RUNNING,
      namespace = "default",
      annotations?: Readonly<Record<string, string>>,
    ): Promise<void> {
      const meta = { name, namespace, ...(annotations && { annotations }) };
      const spec = { runtimeRef: { name: "plain" } };
      const body = {
        apiVersion: "trainer.kubeflow.org/v1alpha1",
        kind: "TrainJob",
        metadata: meta,
        spec,
      };
      await cluster.client().create(TRAINJOB, body);
      await this.set(name, status, namespace);
    },
    async set(name: string, status: Status, namespace = "default"): Promise<void> {
      const key = { name, namespace };
      const body = { status };
      see(
        await cluster.client().patch(TRAINJOB, key, { type: "merge", body }, {
          subresource: "status",
        }),
      );
    },
    object: (name: string): AnyJob => {
      const object = objects.get(name);
      assert.ok(object !== undefined);
      return object;
    },
    podSeen(type: "added" | "updated" | "deleted", object: WatchedPod): void {
      const { name = "" } = object.metadata ?? {};
      if (type === "deleted") pods.delete(name);
      else pods.set(name, object);
      podListeners.forEach((it) => it({ type, object, old: object }));
    },
    push(name: string, sample: Status = {}, uid = `${name}-p1`, earlier?: Push["earlier"]): void {
      term.stalls.reported({
        job: refOf(name),
        pod: { name: `${name}-node-0-${uid.slice(name.length + 1)}`, uid },
        trainerStatus: { lastUpdatedTime: "2026-01-01T00:00:00Z", ...sample },
        ...(earlier && { earlier }),
        receivedMs: clock.now(),
      });
    },
    beat(name: string, pod: string, ranks: Beat["ranks"]): void {
      const origin = {
        job: refOf(name),
        pod: { name: `${name}-node-0-${pod}`, uid: `${name}-${pod}` },
      };
      term.stalls.beat({ ...origin, ranks });
    },
    /** Steps of a second each, of all those jobs. */
    async train(names: readonly string[], steps: number, from = 0): Promise<void> {
      for (let step = from; step < from + steps; step++) {
        for (const name of names) this.push(name, { step, phase: "Training" });
        await clock.advance(1000);
      }
    },
    refuse: (name: string) => term.stalls.refused(refOf(name)),
    stalled: () => term.stalls.stalled(),
    /** Another owner begins. */
    async succeed(): Promise<void> {
      await this.end();
      listeners.length = 0;
      podListeners.length = 0;
      term = open();
    },
    async end(): Promise<void> {
      term.over.abort();
      await clock.advance(0);
      await term.running;
    },
  };
}
