/** Several managers in this process, each a replica of its own, on one embedded control plane. */
import assert from "node:assert/strict";
import { readConfiguration } from "../../../app/configuration/configuration.ts";
import { type Manager, startManager } from "../../../app/manager/manager.ts";
import { createMetrics, type Metrics } from "../../../app/manager/metrics.ts";
import { type ControlPlane, startControlPlane } from "../../../app/standalone/control_plane.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { statusPath } from "../../../crds/job_kind.ts";
import { type JobKinds, TRAINJOB } from "../../../crds/job_kinds.ts";
import { LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { type Clock, systemClock } from "../../../platform/base/clock.ts";
import type { CertificatePolicy } from "../../../webhook/certificate_decision.ts";
import { TEST_FLAGS } from "../../support/manager_flags.ts";
import { progress, requestToken, shellRuntime, trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";

/** A manager with what a test does to it. */
export interface Replica {
  readonly manager: Manager;
  readonly metrics: Metrics;
  /** Base URL of its status endpoint. */
  readonly status: string;
  /** The API server does not answer it, reads, writes and leases fail, until the answer is called. */
  cutOff(): () => void;
  /** Lets its own time jump, as if it had been paused. */
  pause(ms: number): void;
  /** The value of a series, by the text of its labels. */
  metric(name: string, labels?: string): Promise<number>;
}

/** Times of leader election that a test on a busy machine can wait for. */
export const ELECTION = { leaseDuration: "4s", renewDeadline: "3s", retryPeriod: "400ms" };

const CALLS: ReadonlySet<string | symbol> = new Set(["get", "create", "replace", "patch", "list"]);

/** The client, and how to cut it off for a time. */
function cuttable(client: KubeClient): { client: KubeClient; cut: () => () => void } {
  let isCut = false;
  const proxy = new Proxy(client, {
    get(target, name, receiver) {
      if (isCut && CALLS.has(name)) return () => Promise.reject(new Error("cut off"));
      return Reflect.get(target, name, receiver);
    },
  });
  const cut = () => {
    isCut = true;
    return () => void (isCut = false);
  };
  return { client: proxy, cut };
}

/** A clock that can jump ahead. */
function jumping(): { clock: Clock; jump: (ms: number) => void } {
  let ahead = 0;
  return {
    clock: {
      now: () => systemClock.now(),
      monotonic: () => systemClock.monotonic() + ahead,
      sleep: (ms, signal) => systemClock.sleep(ms, signal),
    },
    jump: (ms) => ahead += ms,
  };
}

/** Options of a replica. */
export interface ReplicaOptions {
  readonly kinds?: JobKinds;
  readonly flags?: Readonly<Record<string, string>>;
  readonly certificatePolicy?: CertificatePolicy;
  /** Listens to its calls. */
  readonly wrap?: (client: KubeClient) => KubeClient;
}

async function startReplica(
  plane: ControlPlane,
  name: string,
  { kinds, flags = {}, certificatePolicy, wrap = (it) => it }: ReplicaOptions,
): Promise<Replica> {
  const { client, cut } = cuttable(wrap(plane.managerClient));
  const { clock, jump } = jumping();
  const metrics = createMetrics();
  const manager = await startManager(
    readConfiguration({
      environment: {},
      flags: {
        ...TEST_FLAGS,
        ...ELECTION,
        ...flags,
      },
    }),
    {
      client,
      clock,
      metrics,
      host: "127.0.0.1",
      ...(kinds && { kinds }),
      environment: { POD_NAME: name, POD_UID: `uid-${name}` },
      ...(certificatePolicy === undefined ? {} : { certificatePolicy }),
    },
  );
  return {
    manager,
    metrics,
    status: `https://127.0.0.1:${manager.ports.status}`,
    cutOff: cut,
    pause: jump,
    async metric(series, labels = "") {
      const answer = await fetch(`http://127.0.0.1:${manager.ports.metrics}/metrics`);
      const line = (await answer.text()).split("\n")
        .find((it) => it.startsWith(`milepost_${series}${labels} `));
      return Number(line?.split(" ").at(-1) ?? 0);
    },
  };
}

/** A control plane without pods' processes, and replicas on it. */
export interface Replicas {
  readonly plane: ControlPlane;
  /** Starts one more and waits until it is ready. */
  start(name: string, options?: ReplicaOptions): Promise<Replica>;
}

/** Runs `work`, and stops everything whatever happens. No request may be forbidden by RBAC. */
export async function withReplicas(work: (replicas: Replicas) => Promise<void>): Promise<void> {
  const forbidden: string[] = [];
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({
    port: 0,
    signingKey: SIGNING_KEY,
    kubelet: false,
    onManagerRequest: ({ verb, resource, code }) => {
      if (code === 403) forbidden.push(`${verb} ${resource}`);
    },
  });
  cleanup.defer(() => plane.stop());
  await plane.client.create(KINDS.clusterTrainingRuntime, shellRuntime("plain", "true"));
  await work({
    plane,
    async start(name, options = {}) {
      const replica = await startReplica(plane, name, options);
      cleanup.defer(() => replica.manager.stop());
      await replica.manager.whenReady();
      return replica;
    },
  });
  assert.deepEqual(forbidden, []);
}

/** Waits until exactly one leads. Returns it, and the others. */
export async function leaderAmong(
  replicas: readonly Replica[],
): Promise<{ leader: Replica; followers: Replica[] }> {
  return await until("one replica leads", () => {
    const leaders = replicas.filter(({ manager }) => manager.leading());
    const [leader] = leaders;
    if (leaders.length !== 1 || leader === undefined) return undefined;
    return { leader, followers: replicas.filter((it) => it !== leader) };
  });
}

/** A job with a pod that may push for it. */
export interface Pusher {
  readonly name: string;
  /** Of its pod. */
  readonly token: string;
  /** Pushes to a replica; trusts `ca` (default: what the replica says). */
  push(
    replica: Replica,
    percentage: number,
    ca?: string,
    metrics?: Record<string, string>,
  ): Promise<PushOutcome>;
  /** Pushes to a base URL. */
  pushTo(
    status: string,
    percentage: number,
    ca: string,
    metrics?: Record<string, string>,
  ): Promise<PushOutcome>;
  /** Returns the progress on the TrainJob. */
  shown(): Promise<number | undefined>;
}

/** Results of a client of the endpoint. */
export interface PushOutcome {
  readonly status: number;
  readonly retryAfter: string | null;
}

function podOf(client: KubeClient, job: string): Promise<Pod> {
  return until(`a pod of TrainJob ${job}`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${job}`;
    return (await client.list(KINDS.pod, { namespace: "default", labelSelector })).items[0];
  });
}

/** Creates a TrainJob, unless it exists, and waits for its pod, by whose token it pushes. */
export async function pusher(
  { client }: ControlPlane,
  name: string,
  { exists = false } = {},
): Promise<Pusher> {
  if (!exists) await client.create(KINDS.trainJob, trainJob(name, "plain"));
  const { metadata } = await podOf(client, name);
  const pod = { name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
  const account = { namespace: "default", name: "default" };
  const token = await requestToken(client, account, { audience: PUSH_AUDIENCE, pod });
  async function pushTo(
    status: string,
    percentage: number,
    ca: string,
    metrics?: Record<string, string>,
  ): Promise<PushOutcome> {
    using http = Deno.createHttpClient({ caCerts: [ca] });
    const answer = await fetch(`${status}${statusPath(TRAINJOB, "default", name)}`, {
      method: "POST",
      client: http,
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(progress(percentage, metrics)),
      signal: AbortSignal.timeout(10_000),
    });
    await answer.body?.cancel();
    return { status: answer.status, retryAfter: answer.headers.get("retry-after") };
  }
  return {
    name,
    token,
    push: ({ manager, status }, percentage, ca = manager.caBundle(), metrics) =>
      pushTo(status, percentage, ca, metrics),
    pushTo,
    async shown() {
      const job = await client.get(KINDS.trainJob, { namespace: "default", name });
      return job.status?.trainerStatus?.progressPercentage;
    },
  };
}

/** Waits until the TrainJob shows the percentage. */
export async function showsProgress(pusher: Pusher, percentage: number): Promise<void> {
  await until(
    `TrainJob ${pusher.name} shows ${percentage}`,
    async () => await pusher.shown() === percentage,
  );
}
