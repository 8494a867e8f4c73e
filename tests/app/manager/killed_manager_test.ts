/** Test of a manager that is killed repeatedly while 50 jobs of all kinds run: all converge, nothing is made twice. */
import assert from "node:assert/strict";
import { startControlPlane } from "../../../app/standalone/control_plane.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { V1_KIND_LIST, type V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_CONDITIONS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { isConditionTrue } from "../../../platform/kube/conditions.ts";
import { KubeError, TransportError } from "../../../platform/kube/errors.ts";
import { createInformer } from "../../../platform/kube/watching/informer.ts";
import type { Kind, KubeObject } from "../../../platform/kube/resource.ts";
import { managerLauncher } from "../../support/manager_process.ts";
import { shellRuntime, trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { v1Job } from "../../controller/jobs/v1_jobs.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";

const JOBS = 50;
const KILLS = 6;

/** The replicas of a job of each v1 kind. */
const V1_TYPES = {
  TFJob: { Worker: 2 },
  PyTorchJob: { Master: 1, Worker: 1 },
  XGBoostJob: { Master: 1, Worker: 1 },
  MXJob: { Scheduler: 1, Server: 1, Worker: 1 },
  MPIJob: { Launcher: 1 },
  PaddleJob: { Worker: 2 },
  JAXJob: { Worker: 2 },
} as const satisfies Partial<Record<V1KindName, Readonly<Record<string, number>>>>;
const V1_NAMES = V1_KIND_LIST.map(({ kind }) => kind).filter((it) => it in V1_TYPES);

/** A job that is to be created, how many pods it has, and whether it is at its good end. */
interface Planned {
  readonly name: string;
  readonly pods: number;
  readonly isTrainJob: boolean;
  create(client: KubeClient): Promise<unknown>;
  hasSucceeded(client: KubeClient): Promise<boolean>;
}

function plannedTrainJob(name: string): Planned {
  return {
    name,
    pods: 1,
    isTrainJob: true,
    create: (client) => client.create(KINDS.trainJob, trainJob(name, "short")),
    async hasSucceeded(client) {
      const { status } = await client.get(KINDS.trainJob, { namespace: "default", name });
      return status?.state === "Complete";
    },
  };
}

function plannedV1Job(name: string, kind: keyof typeof V1_TYPES): Planned {
  const types = V1_TYPES[kind];
  const job = v1Job(kind, types, kind === "MXJob" ? { jobMode: "MXTrain" } : {});
  const text = JSON.stringify(job).replaceAll('"image":"i"', '"image":"none","command":["true"]');
  const resource = V1_RESOURCES[kind];
  const wanted = { ...resource.parse(JSON.parse(text)), metadata: { name, namespace: "default" } };
  return {
    name,
    pods: Object.values(types).reduce((sum, count) => sum + count, 0),
    isTrainJob: false,
    create: (client) => client.create(resource, wanted),
    async hasSucceeded(client) {
      const { status } = await client.get(resource, { namespace: "default", name });
      return isConditionTrue(status?.conditions, V1_CONDITIONS.succeeded);
    },
  };
}

/** Jobs of all kinds in turn. */
function plan(): Planned[] {
  return Array.from({ length: JOBS }, (_, index) => {
    const kind = [undefined, ...V1_NAMES][index % (V1_NAMES.length + 1)];
    const name = `job-${index}`;
    return kind === undefined || !isTyped(kind) ? plannedTrainJob(name) : plannedV1Job(name, kind);
  });
}

const isTyped = (kind: V1KindName): kind is keyof typeof V1_TYPES => kind in V1_TYPES;

/** Collects the UIDs that each name of a kind has had. */
function recordUids<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  signal: AbortSignal,
) {
  const uids = new Map<string, Set<string>>();
  const informer = createInformer({ client, kind, namespace: "default" });
  informer.onChange(({ object }) => {
    const { name = "", uid = "" } = object.metadata ?? {};
    uids.set(name, (uids.get(name) ?? new Set()).add(uid));
  });
  return { uids, done: informer.run(signal) };
}

/** While no manager serves the webhook, the API server refuses jobs: try again, as users would. */
async function createPatiently(client: KubeClient, job: Planned): Promise<void> {
  await until(`${job.name} is taken`, async () => {
    try {
      await job.create(client);
      return true;
    } catch (error) {
      if (error instanceof TransportError) return false;
      if (error instanceof KubeError && error.code === 409) return true;
      if (error instanceof KubeError && (error.code === 429 || error.code >= 500)) return false;
      throw error;
    }
  }, { timeoutMs: 60_000, everyMs: 100 });
}

Deno.test("a manager killed at random points loses nothing and makes nothing twice", async () => {
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY });
  const watching = new AbortController();
  const { client } = plane;
  const records = [
    recordUids(client, KINDS.jobSet, watching.signal),
    recordUids(client, KINDS.job, watching.signal),
    recordUids(client, KINDS.service, watching.signal),
    recordUids(client, KINDS.configMap, watching.signal),
    recordUids(client, KINDS.pod, watching.signal),
  ];
  const planned = plan();
  const launcher = managerLauncher(plane.kubeconfig);
  let manager = launcher.start();
  try {
    await until("the first manager is ready", launcher.isReady);
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("short", "true"));
    const creating = (async () => {
      for (const job of planned) await createPatiently(client, job);
    })();
    for (let kill = 0; kill < KILLS; kill++) {
      await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 700));
      await manager.end("SIGKILL");
      manager = launcher.start();
      await until("the next manager is ready", launcher.isReady);
    }
    await creating;
    for (const job of planned) {
      await until(`${job.name} succeeds`, () => job.hasSucceeded(client), { timeoutMs: 120_000 });
    }
    for (const { uids } of records) {
      const doubled = [...uids].filter(([, seen]) => seen.size > 1).map(([name]) => name);
      assert.deepEqual(doubled, []);
    }
    const trainJobs = planned.filter(({ isTrainJob }) => isTrainJob).length;
    const [jobSets, jobs, , , pods] = records.map(({ uids }) => uids.size);
    assert.deepEqual([jobSets, jobs], [trainJobs, trainJobs]);
    // A v1 job whose master has succeeded meanwhile needs no worker any more.
    const most = planned.reduce((sum, job) => sum + job.pods, 0);
    assert.ok(pods !== undefined && pods >= JOBS && pods <= most, `${pods} pods, not ${most}`);
    assert.equal(await manager.end("SIGTERM"), 0, manager.log());
  } finally {
    await manager.end("SIGKILL");
    watching.abort();
    await Promise.all(records.map(({ done }) => done));
    await plane.stop();
  }
});
