/** Tests of lasting faults: no API server for half a minute, watches that break every second for a minute. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { type ControlPlane, startControlPlane } from "./control_plane/control_plane.ts";
import { assertConserved, assertCreatedOnce, AUDIT_WRITES } from "./support/conserved.ts";
import { install, withCluster } from "./support/installation.ts";
import { startTestNode } from "./support/node.ts";
import { reporterOf, statusOf } from "./support/pushing.ts";
import { restartControllers, startManagerBehind } from "./support/way.ts";

const GONE_MS = 30_000;
const CUT_FOR_MS = 60_000;
const CUT_EVERY_MS = 1_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function complete({ client }: ControlPlane, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await trainJobThat(client, name, "is complete", ({ status }) => status?.state === "Complete");
  }
}

/** Runs until its file is there. */
const WAITS = (file: string) => `while [ ! -e ${file} ]; do sleep 0.2; done`;

/** A pod keeps running, and its reports are accepted, or refused with a retry. */
async function apiServerIsGone(): Promise<void> {
  await withCluster(async ({ plane, manager }) => {
    const { client } = plane;
    const go = `${plane.folder}/go`;
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("long", WAITS(go)));
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("quick", "true"));
    await client.create(KINDS.trainJob, trainJob("long", "long"));
    await trainJobThat(client, "long", "runs", ({ status }) => status?.state === "Running");
    using reporter = await reporterOf(client, { trainJob: "long" });
    assert.equal(await reporter.send(manager.statusUrl, statusOf(10)), 200, reporter.lastAnswer);
    // Gone in the middle of what these ask for.
    const caught = Array.from({ length: 10 }, (_, index) => `caught-${index}`);
    await Promise.all(caught.map((name) => client.create(KINDS.trainJob, trainJob(name, "quick"))));
    await plane.apiServer.stop("SIGKILL");
    const began = performance.now();
    assert.equal(await reporter.send(manager.statusUrl, statusOf(40)), 200, reporter.lastAnswer);
    await sleep(GONE_MS / 2);
    // Its lease is over by now: a manager that may have a successor takes nothing.
    assert.equal(await reporter.send(manager.statusUrl, statusOf(60)), 503, reporter.lastAnswer);
    assert.ok(Number(reporter.retryAfter) >= 1, `Retry-After: ${reporter.retryAfter}`);
    await sleep(GONE_MS - (performance.now() - began));
    await plane.apiServer.start();
    await restartControllers(plane);
    await until(
      "a push to be taken again",
      async () => await reporter.send(manager.statusUrl, statusOf(60)) === 200,
    );
    const { status } = await trainJobThat(
      client,
      "long",
      "has what was reported",
      ({ status }) => status?.trainerStatus?.progressPercentage === 60,
    );
    assert.equal(status?.state, "Running");
    await Deno.writeTextFile(go, "");
    await client.create(KINDS.trainJob, trainJob("after", "quick"));
    const all = [...caught, "long", "after"];
    await complete(plane, all);
    await assertConserved(plane, all, { pods: 1 });
    await assertCreatedOnce(plane, all);
    assert.ok(await manager.isReady());
  }, { plane: { audit: AUDIT_WRITES } });
}

/** TrainJobs come and go all the time. */
async function watchesAreCut(): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({ audit: AUDIT_WRITES });
  cleanup.defer(() => plane.stop());
  const installation = await install(plane);
  const node = await startTestNode(plane);
  cleanup.defer(() => node.stop());
  const { api } = await startManagerBehind(plane, installation, cleanup);
  const { client } = plane;
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("quick", "true"));
  const names: string[] = [];
  const cuts: number[] = [];
  const end = performance.now() + CUT_FOR_MS;
  for (let turn = 0; performance.now() < end; turn++) {
    const next = performance.now() + CUT_EVERY_MS;
    if (turn % 3 === 0) {
      const name = `cut-${turn}`;
      names.push(name);
      await client.create(KINDS.trainJob, trainJob(name, "quick"));
    }
    cuts.push(api.cutWatches());
    await sleep(next - performance.now());
  }
  assert.ok(cuts.length >= 50 && cuts.filter((count) => count > 0).length >= 45, `${cuts}`);
  await complete(plane, names);
  await assertConserved(plane, names, { pods: 1 });
  await assertCreatedOnce(plane, names);
}

Deno.test("the manager survives an unreachable API server, and watches that are cut", async (t) => {
  // Waiting is all they do, so they wait together; what they leave is counted after both.
  const together = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };
  await Promise.all([
    t.step({ ...together, name: "the API server is gone for 30 s", fn: apiServerIsGone }),
    t.step({ ...together, name: "watches are cut every second for a minute", fn: watchesAreCut }),
  ]);
});
