/**
 * Tests of restarts on a real control plane, with either executor: the last pod goes before others come, what has
 * succeeded is run again but for initializers, and suspension and deletion come in between.
 */
import assert from "node:assert/strict";
import { MANAGER_PARTS } from "../../app/manager/rights.ts";
import { KINDS } from "../../crds/kinds.ts";
import { EVENT_REASONS, LABELS, MANAGER, RESTARTS, STEPS } from "../../crds/names.ts";
import { DEFAULTS } from "../../deploy/installation_settings.ts";
import { parts } from "../../deploy/parts.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isNotFound } from "../../platform/kube/errors.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import {
  halfDone,
  halfDoneRuntime,
  isOver,
  storeRestart,
  whileWatching,
} from "../support/restarts.ts";
import { trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { apply, type Cluster, type SharedClusterOptions } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { startUpstreamJobSet } from "./support/upstream_jobset.ts";

const withSharedCluster = shareCluster();

const DEADLINE_SECONDS = 40;
const inDefault = (name: string) => ({ namespace: "default", name });
const begin = async ({ plane: { client } }: Cluster, name: string, seconds?: number) => {
  const spec = seconds === undefined ? {} : { activeDeadlineSeconds: seconds };
  await client.create(KINDS.trainJob, trainJob(name, "half-done", { spec }));
};

const suspend = (client: KubeClient, name: string, value: boolean) =>
  client.patch(KINDS.trainJob, inDefault(name), {
    type: "merge",
    body: { spec: { suspend: value } },
  });

async function podsOf(client: KubeClient, name: string): Promise<Pod[]> {
  const labelSelector = `${LABELS.trainJobName}=${name}`;
  return (await client.list(KINDS.pod, { namespace: "default", labelSelector })).items;
}

const jobSetRests = (client: KubeClient, name: string) =>
  until(
    `the JobSet of ${name} is suspended`,
    async () => (await client.get(KINDS.jobSet, inDefault(name))).spec?.suspend === true,
  );

async function eventsOf(client: KubeClient, name: string): Promise<string[]> {
  const { items } = await client.list(KINDS.event, { namespace: "default" });
  return items.filter(({ involvedObject: it }) => it.kind === "TrainJob" && it.name === name)
    .map(({ reason = "" }) => reason);
}

async function play(t: Deno.TestContext, cluster: Cluster, executor: string): Promise<void> {
  const { client } = cluster.plane;
  await client.create(KINDS.clusterTrainingRuntime, halfDoneRuntime());
  await begin(cluster, "late", DEADLINE_SECONDS);
  await begin(cluster, "again");

  await t.step(
    "all pods come again but for the initializer's, after the last old one",
    () =>
      whileWatching(client, "again", async (seen) => {
        await halfDone(client, "again");
        await storeRestart(client, "late", 1);
        for (const count of [1, 2]) {
          seen.generation = count;
          const at = await storeRestart(client, "again", count);
          const { status } = await trainJobThat(
            client,
            "again",
            "goes on",
            (job) => isOver(job, count),
          );
          await halfDone(client, "again");
          const tookMs = (seen.came[count] ?? NaN) - at;
          // deno-lint-ignore no-console -- a word to whoever runs the tests
          console.log(
            `${executor}: ${tookMs} ms from the write to the first new pod, of which 2,000 ms end the old one`,
          );
          assert.deepEqual(seen.places(count), ["node 0", "node 1"]);
          assert.equal(status?.startTime, undefined);
          assert.equal(status?.state, "Running");
          assert.deepEqual(status?.conditions ?? [], []);
        }
        assert.deepEqual(seen.beside, []);
        assert.deepEqual(seen.places(0), [`${STEPS.datasetInitializer} 0`, "node 0", "node 1"]);
        const { status } = await client.get(KINDS.jobSet, inDefault("again"));
        assert.deepEqual([status?.restarts ?? 0, status?.restartsCountTowardsMax ?? 0], [0, 0]);
        const told = await eventsOf(client, "again");
        assert.equal(told.includes(EVENT_REASONS.restarted), true);
        assert.equal(told.includes(EVENT_REASONS.suspended), false);
        assert.equal(told.includes(EVENT_REASONS.resumed), false);
      }),
  );

  await t.step(
    "a suspension in the middle ends the restart, and what comes after it waits for the pods before",
    () =>
      whileWatching(client, "again", async (seen) => {
        await storeRestart(client, "again", 3);
        await jobSetRests(client, "again");
        await suspend(client, "again", true);
        const job = await trainJobThat(
          client,
          "again",
          "rests",
          ({ status }) => status?.state === "Suspended",
        );
        assert.equal(isOver(job, 3), true);
        const { spec } = await client.get(KINDS.jobSet, inDefault("again"));
        assert.equal(spec?.suspend, true);
        seen.generation = 1;
        await suspend(client, "again", false);
        await until("another pod comes", () => Promise.resolve(seen.came[1] !== undefined));
        await halfDone(client, "again");
        assert.deepEqual(seen.beside, []);
        assert.deepEqual(seen.places(1), ["node 0", "node 1"]);
      }),
  );

  await t.step("a deletion in the middle leaves nothing", async () => {
    await storeRestart(client, "again", 4);
    await jobSetRests(client, "again");
    await client.delete(KINDS.trainJob, inDefault("again"), { propagationPolicy: "Foreground" });
    await until("the job is gone", async () => {
      try {
        await client.get(KINDS.trainJob, inDefault("again"));
        return false;
      } catch (error) {
        return isNotFound(error);
      }
    }, { timeoutMs: 60_000 });
    await until("its pods are gone", async () => (await podsOf(client, "again")).length === 0);
  });

  await t.step("a restart does not move the deadline", async () => {
    const { metadata, status } = await trainJobThat(
      client,
      "late",
      "fails",
      ({ status }) => status?.state === "Failed",
    );
    const [failed] = status?.conditions ?? [];
    assert.equal(failed?.reason, "DeadlineExceeded");
    const seconds = (Date.parse(failed?.lastTransitionTime ?? "") -
      Date.parse(metadata.creationTimestamp ?? "")) / 1000;
    assert.ok(seconds >= DEADLINE_SECONDS && seconds < DEADLINE_SECONDS + 10, `${seconds} s`);
  });
}

/** The options of a manager beside upstream's controller, with those parts. */
function besideUpstream(
  controllers: AsyncDisposableStack,
  without: readonly string[],
): SharedClusterOptions {
  return {
    flags: { jobset: "external" },
    parts: MANAGER_PARTS.filter((part) => !without.includes(part)),
    async beforeManager({ plane }) {
      const controller = await startUpstreamJobSet(plane);
      controllers.defer(() => controller.stop());
    },
  };
}

Deno.test("a TrainJob is restarted by the built-in executor", (t) =>
  withSharedCluster((cluster) => play(t, cluster, "built-in"), {
    flags: { jobset: "builtin" },
    parts: MANAGER_PARTS.filter((part) => part !== RESTARTS.role),
  }));

Deno.test("a TrainJob is restarted by upstream's executor", async (t) => {
  await using controllers = new AsyncDisposableStack();
  await withSharedCluster(async (cluster) => {
    await using _ = controllers.move();
    await play(t, cluster, "upstream's");
  }, besideUpstream(controllers, ["executor"]));
});

Deno.test("without its role a restart with upstream's executor waits, says so, and goes on when it is bound", async () => {
  await using controllers = new AsyncDisposableStack();
  await withSharedCluster(async (cluster) => {
    await using _ = controllers.move();
    const { plane, kubectl } = cluster;
    const { client } = plane;
    await client.create(KINDS.clusterTrainingRuntime, halfDoneRuntime());
    await begin(cluster, "bound");
    await halfDone(client, "bound");
    await storeRestart(client, "bound", 1);
    const message = await until("the event", async () => {
      const { items } = await client.list(KINDS.event, { namespace: "default" });
      return items.find(({ reason }) => reason === EVENT_REASONS.restartWaits)?.message;
    }, { timeoutMs: 60_000 });
    const role = `${MANAGER.name}-${RESTARTS.role}`;
    assert.match(
      message,
      new RegExp(`bind the ClusterRole ${role} to .*Helm: ${RESTARTS.helmValue}=true`),
    );
    const { access, restarts_binding } = parts(DEFAULTS);
    await apply(plane, [
      ...access.filter(({ metadata }) => metadata.name === role),
      ...restarts_binding,
    ]);
    await kubectl(["annotate", "trainjob", "bound", "example.com/look=again"]);
    await trainJobThat(client, "bound", "goes on", (job) => isOver(job, 1));
    await halfDone(client, "bound");
  }, besideUpstream(controllers, ["executor", RESTARTS.role]));
});
