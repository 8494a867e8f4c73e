/** Tests of JobSet executor and Job controller together, against the embedded API server over HTTPS. */
import { systemClock } from "../../../platform/base/clock.ts";
import { deepEqual, equal } from "node:assert/strict";
import {
  createJobSetController,
  jobSetJobIndexes,
} from "../../../controller/jobset/jobset_controller.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { crdManifests } from "../../../crds/manifests.ts";
import { JOB_KEYS } from "../../../crds/job_names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { systemClock as clock } from "../../../platform/base/clock.ts";
import { createInformer } from "../../../platform/kube/watching/informer.ts";
import { connectionTo } from "../../../platform/kube/connection/kubeconfig.ts";
import { startApiServer } from "../../../standalone/apiserver/api_server.ts";
import { createJobController, jobPodIndexes } from "../../../standalone/jobs/job_controller.ts";
import { jobSet, replicated } from "../../controller/jobset/world.ts";
import { until } from "../../support/fake_clock.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";

const KEY = { namespace: "default", name: "t" };

/** Both controllers on an API server of their own, while `test` runs. */
async function withCluster(
  test: (client: KubeClient, events: string[]) => Promise<void>,
): Promise<void> {
  const api = await startApiServer({ port: 0, hostname: "127.0.0.1", signingKey: SIGNING_KEY });
  const stop = new AbortController();
  const connection = connectionTo({
    server: api.url,
    caPem: api.caCertificate,
    token: api.adminToken,
  });
  const client = createClient({ connection });
  const running: Promise<void>[] = [];
  try {
    for (const crd of crdManifests()) {
      const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
      const headers = { "content-type": "application/json" };
      await client.read(path, { method: "POST", headers, body: JSON.stringify(crd) });
    }
    const cache = { client, clock };
    const informers = {
      jobSets: createInformer({ ...cache, kind: KINDS.jobSet }),
      jobs: createInformer({ ...cache, kind: KINDS.job, indexes: jobSetJobIndexes }),
      services: createInformer({ ...cache, kind: KINDS.service }),
      pods: createInformer({ ...cache, kind: KINDS.pod, indexes: jobPodIndexes }),
    };
    const told: string[] = [];
    const events = {
      record: (_: unknown, { reason }: { reason: string }) => void told.push(reason),
    };
    const podBackoff = { firstMs: 10, longestMs: 100 };
    running.push(
      ...Object.values(informers).map((informer) => informer.run(stop.signal)),
      createJobSetController({
        client,
        managerName: "manager",
        informers,
        events,
        clock: systemClock,
      }).run(stop.signal),
      createJobController({ client, informers, events, clock, random: Math.random, podBackoff })
        .run(stop.signal),
    );
    await test(client, told);
  } finally {
    stop.abort();
    await Promise.all(running);
    await api.close();
  }
}

/** The active pods of a Job, once there are that many. */
async function activePods(client: KubeClient, count: number): Promise<Pod[]> {
  let active: Pod[] = [];
  await until(`${count} active pods`, async () => {
    const { items } = await client.list(KINDS.pod, { namespace: "default" });
    active = items.filter(({ metadata, status }) =>
      metadata?.deletionTimestamp === undefined && (status?.phase ?? "Pending") === "Pending"
    );
    return active.length === count;
  });
  return active;
}

async function end(client: KubeClient, pod: Pod, phase: "Succeeded" | "Failed"): Promise<void> {
  const finishedAt = new Date().toISOString();
  const terminated = { exitCode: phase === "Succeeded" ? 0 : 1, finishedAt };
  const status = { name: "main", image: "i", imageID: "", ready: false, restartCount: 0 };
  await client.patch(KINDS.pod, { namespace: "default", name: pod.metadata?.name ?? "" }, {
    type: "merge",
    body: { status: { phase, containerStatuses: [{ ...status, state: { terminated } }] } },
  }, { subresource: "status" });
}

async function suspend(client: KubeClient, suspend: boolean): Promise<void> {
  await client.patch(KINDS.jobSet, KEY, { type: "merge", body: { spec: { suspend } } });
}

const ended = (client: KubeClient, state: string) =>
  until(`JobSet ${state}`, async () => {
    return (await client.get(KINDS.jobSet, KEY)).status?.terminalState === state;
  });

function twoNodes(backoffLimit: number) {
  const { template } = replicated("node");
  return replicated("node", {
    template: {
      spec: {
        template: {},
        ...template.spec,
        completions: 2,
        parallelism: 2,
        backoffLimit,
      },
    },
  });
}

Deno.test("a JobSet of two nodes is suspended, resumed, loses a pod and completes", async () => {
  await withCluster(async (client, events) => {
    await client.create(KINDS.jobSet, jobSet({ replicatedJobs: [twoNodes(3)] }));
    await activePods(client, 2);
    await suspend(client, true);
    await activePods(client, 0);
    await until("suspended", async () => {
      const { status } = await client.get(KINDS.jobSet, KEY);
      return status?.conditions?.[0]?.reason === "SuspendedJobs" &&
        status.replicatedJobsStatus?.[0]?.active === 0;
    });
    await suspend(client, false);
    const [failing] = await activePods(client, 2);
    if (failing) await end(client, failing, "Failed");
    for (const pod of await activePods(client, 2)) await end(client, pod, "Succeeded");
    await ended(client, "Completed");
    const job = await client.get(KINDS.job, { namespace: "default", name: "t-node-0" });
    equal(job.status?.succeeded, 2);
    equal(job.status?.failed, 1);
    equal(job.status?.completedIndexes, "0,1");
    const { items } = await client.list(KINDS.pod, { namespace: "default" });
    equal(items.length, 3);
    for (const pod of items) deepEqual(pod.metadata?.finalizers ?? [], []);
    equal(items[0]?.metadata?.labels?.[JOB_KEYS.jobName], "t-node-0");
    equal((await client.get(KINDS.service, KEY)).spec?.clusterIP, "None");
    equal(events.includes("AllJobsCompleted"), true);
  });
});

Deno.test("a JobSet whose Job fails restarts it, then fails, and goes with all its children", async () => {
  await withCluster(async (client) => {
    const failurePolicy = { maxRestarts: 1 };
    await client.create(KINDS.jobSet, jobSet({ replicatedJobs: [twoNodes(0)], failurePolicy }));
    const [first] = await activePods(client, 2);
    if (first) await end(client, first, "Failed");
    await until("restarted", async () => {
      const { items } = await client.list(KINDS.job, { namespace: "default" });
      return items[0]?.metadata?.labels?.["jobset.sigs.k8s.io/restart-attempt"] === "1";
    });
    const [second] = await activePods(client, 2);
    if (second) await end(client, second, "Failed");
    await ended(client, "Failed");
    await client.delete(KINDS.jobSet, KEY, { propagationPolicy: "Foreground" });
    await until("all gone", async () => {
      const kinds = [KINDS.jobSet, KINDS.job, KINDS.pod, KINDS.service];
      const lists = await Promise.all(
        kinds.map((kind) => client.list<unknown>(kind, { namespace: "default" })),
      );
      return lists.every(({ items }) => items.length === 0);
    });
  });
});
