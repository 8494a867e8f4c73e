/** Tests of faults around the manager: missing CRDs, an unreachable webhook, wrong clocks, a deleted namespace. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { crdManifests } from "../../crds/manifests.ts";
import { IDENTITY_VOLUME, LABELS, STATUS_ENV } from "../../crds/names.ts";
import { shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { assertConserved, assertCreatedOnce, AUDIT_WRITES } from "./support/conserved.ts";
import { apply, type Cluster, kubectl, withCluster } from "./support/installation.ts";
import { reporterOf, statusOf } from "./support/pushing.ts";
import { SHORT_LEASE } from "./support/way.ts";

const MISSING = crdManifests().filter(({ spec }) =>
  spec.names.kind === KINDS.trainJob.kind || spec.names.kind === KINDS.jobSet.kind
);

/** Runs until its file is there. */
const waitsFor = (file: string) => `while [ ! -e ${file} ]; do sleep 0.2; done`;

async function podsOf({ plane }: Cluster, trainJobName: string, namespace = "default") {
  const { items } = await plane.client.list(KINDS.pod, { namespace });
  return items.filter(({ metadata }) =>
    metadata?.labels?.[LABELS.trainJobName] === trainJobName ||
    metadata?.name?.startsWith(`${trainJobName}-`)
  );
}

/** It waits, and says for what; once they are there it works. */
async function crdsAreMissing(cluster: Cluster): Promise<void> {
  const { plane, manager } = cluster;
  await until("the manager to say what it waits for, and for nothing else", async () => {
    const answer = await fetch(`${manager.healthUrl}/readyz`);
    const text = await answer.text();
    return answer.status === 503 && text.includes("caches (trainJobs, jobSets)");
  });
  const alive = await fetch(`${manager.healthUrl}/healthz`);
  assert.equal(await alive.text(), "ok\n");
  for (const kind of ["TrainJob", "JobSet"]) {
    const line = new RegExp(`waiting until its CRD is installed.*"kind":"${kind}"`);
    await until(`a line of log about ${kind}`, async () => line.test(await manager.log()));
  }
  await apply(plane, MISSING);
  await until("the manager to be ready", () => manager.isReady(), { timeoutMs: 60_000 });
  await plane.client.create(KINDS.clusterTrainingRuntime, shellRuntime("quick", "true"));
  await plane.client.create(KINDS.trainJob, trainJob("first", "quick"));
  const isComplete = ({ status }: { status?: { state?: string } }) => status?.state === "Complete";
  await trainJobThat(plane.client, "first", "is complete", isComplete);
  await assertConserved(plane, ["first"], { pods: 1 });
  await assertCreatedOnce(plane, ["first"]);
}

function jobWithLabels(name: string, labels: Record<string, string>) {
  const template = {
    metadata: { labels },
    spec: {
      restartPolicy: "Never",
      containers: [{ name: "node", image: "none", command: ["true"] }],
    },
  };
  return KINDS.job.parse({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: "default" },
    spec: { backoffLimit: 0, template },
  });
}

function isInjected(pod: Pod | undefined): boolean {
  const env = pod?.spec?.containers[0]?.env ?? [];
  const hasVolume = pod?.spec?.volumes?.some(({ name }) => name === IDENTITY_VOLUME.name);
  return hasVolume === true && env.some(({ name }) => name === STATUS_ENV.kep.url);
}

/** Pods of a plain TrainJob do not wait for the webhook, those of a trial do. */
async function webhookIsUnreachable(cluster: Cluster): Promise<void> {
  const { plane, manager } = cluster;
  const { client } = plane;
  // The manager has made the Job and is gone before there is a pod.
  await plane.controllerManager.stop("SIGKILL");
  await client.create(KINDS.trainJob, trainJob("plain", "quick"));
  const job = { namespace: "default", name: "plain-node-0" };
  await until("the Job", () => client.get(KINDS.job, job));
  await manager.kill("SIGKILL");
  const trial = { [LABELS.trainJobName]: "trial", [LABELS.trial]: "trial" };
  await client.create(KINDS.job, jobWithLabels("trial", trial));
  await plane.controllerManager.start();
  const [plain] = await until("the plain pod to have run", async () => {
    const pods = await podsOf(cluster, "plain");
    return pods[0]?.status?.phase === "Succeeded" ? pods : undefined;
  }, { timeoutMs: 60_000 });
  assert.ok(!isInjected(plain), "nobody was there to inject");
  await until("the Job controller to have tried", async () => {
    const { items } = await client.list(KINDS.event, { namespace: "default" });
    return items.some(({ reason, involvedObject }) =>
      reason === "FailedCreate" && involvedObject.name === "trial"
    );
  });
  assert.deepEqual(await podsOf(cluster, "trial"), []);
  await manager.restart();
  const [waited] = await until("the pod of the trial", async () => {
    const pods = await podsOf(cluster, "trial");
    return pods.length > 0 ? pods : undefined;
  }, { timeoutMs: 60_000 });
  assert.ok(isInjected(waited), JSON.stringify(waited?.spec));
  await trainJobThat(client, "plain", "is complete", ({ status }) => status?.state === "Complete");
  await assertConserved(plane, ["plain"], { pods: 1 });
  await assertCreatedOnce(plane, ["plain"]);
  await client.delete(KINDS.job, { namespace: "default", name: "trial" }, {
    propagationPolicy: "Background",
  });
}

const TEN_MINUTES_MS = 600_000;

/** What arrives last is newest, whatever the clock of the pod says, and bears a time that can be. */
async function clocksAreWrong(cluster: Cluster): Promise<void> {
  const { plane, manager } = cluster;
  const { client } = plane;
  const go = `${plane.folder}/clocks`;
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("clocks", waitsFor(go)));
  await client.create(KINDS.trainJob, trainJob("clocks", "clocks"));
  await trainJobThat(client, "clocks", "runs", ({ status }) => status?.state === "Running");
  const [pod] = await podsOf(cluster, "clocks");
  const startedMs = Date.parse(pod?.status?.startTime ?? "");
  using reporter = await reporterOf(client, { trainJob: "clocks" });
  const offsets = [TEN_MINUTES_MS, -TEN_MINUTES_MS, 0, -TEN_MINUTES_MS, TEN_MINUTES_MS];
  for (const [index, offset] of offsets.entries()) {
    const sent = statusOf(10 * (index + 1), Date.now() + offset);
    assert.equal(await reporter.send(manager.statusUrl, sent), 200, reporter.lastAnswer);
    const { status } = await trainJobThat(
      client,
      "clocks",
      `has what arrived ${offset / 60_000} minutes off`,
      ({ status }) => status?.trainerStatus?.progressPercentage === sent.progressPercentage,
    );
    assert.equal(reporter.lastAnswer.includes('"warnings"'), offset !== 0, reporter.lastAnswer);
    const shownMs = Date.parse(status?.trainerStatus?.lastUpdatedTime ?? "");
    assert.ok(shownMs >= startedMs && shownMs <= Date.now(), `${shownMs} from ${startedMs} on`);
    assert.equal(status?.state, "Running");
  }
  await Deno.writeTextFile(go, "");
  await trainJobThat(client, "clocks", "is complete", ({ status }) => status?.state === "Complete");
}

/** Its TrainJobs are deleted with it; a new namespace of that name starts empty. */
async function namespaceIsDeleted(cluster: Cluster): Promise<void> {
  const { plane, manager } = cluster;
  const { client } = plane;
  const namespace = "doomed";
  const names = ["doomed-0", "doomed-1", "doomed-2", "doomed-3"];
  const account = { namespace, name: "default" };
  for (const round of ["before", "after"]) {
    await kubectl(plane, ["create", "namespace", namespace]);
    await until("its service account", () => client.get(KINDS.serviceAccount, account));
    const long = shellRuntime(`doomed-${round}`, round === "before" ? "sleep 600" : "true");
    await client.create(KINDS.clusterTrainingRuntime, long);
    for (const name of names) {
      await client.create(KINDS.trainJob, trainJob(name, `doomed-${round}`, { namespace }));
    }
    if (round === "after") break;
    // Some run, others have just been asked for.
    await until("a pod to run", async () => {
      const pods = await client.list(KINDS.pod, { namespace });
      return pods.items.some(({ status }) => status?.phase === "Running");
    }, { timeoutMs: 60_000 });
    await kubectl(plane, ["delete", "namespace", namespace, "--timeout=90s"]);
  }
  for (const name of names) {
    await until(`${name} to be complete`, async () => {
      const job = await client.get(KINDS.trainJob, { namespace, name });
      return job.status?.state === "Complete";
    }, { timeoutMs: 60_000 });
  }
  await assertConserved(plane, names, { namespace, pods: 1 });
  await until("nobody to work on what is gone", async () => {
    const before = (await manager.log()).length;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    return (await manager.log()).length === before;
  });
}

const CASES: Record<string, (cluster: Cluster) => Promise<void>> = {
  "CRDs are missing at the start: it waits and says so": crdsAreMissing,
  "the webhook is unreachable: plain pods start, pods of trials wait": webhookIsUnreachable,
  "the clock of a pod is 10 minutes ahead or behind": clocksAreWrong,
  "a namespace is deleted in the middle": namespaceIsDeleted,
};

Deno.test("the manager survives faults around it", (t) =>
  withCluster(async (cluster) => {
    for (const [name, run] of Object.entries(CASES)) {
      await t.step({
        name,
        // The node and its connections live longer than a step; the whole test looks after them.
        sanitizeOps: false,
        sanitizeResources: false,
        fn: () => run(cluster),
      });
    }
  }, {
    waitUntilReady: false,
    flags: SHORT_LEASE,
    plane: { audit: AUDIT_WRITES },
    async beforeManager({ plane }) {
      const names = MISSING.map(({ metadata }) => metadata.name);
      await kubectl(plane, ["delete", "crd", "--wait", "--timeout=60s", ...names]);
    },
  }));
