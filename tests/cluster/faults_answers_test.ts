/** Tests of bad answers of the API server: conflicts, throttling, expired history. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { type ControlPlane, startControlPlane } from "./control_plane/control_plane.ts";
import { assertConserved, assertCreatedOnce, AUDIT_WRITES } from "./support/conserved.ts";
import { type FaultyApi, type SeenRequest, statusAnswer } from "./support/faulty_api.ts";
import { install, type TestManager } from "./support/installation.ts";
import { startTestNode } from "./support/node.ts";
import { metricOf, restartControllers, startManagerBehind } from "./support/way.ts";

const isWrite = ({ method }: SeenRequest) => method !== "GET";
const pathOf = ({ method, path }: SeenRequest) => `${method} ${path.split("?")[0]}`;

/** The TrainJobs of a case run to their end. */
async function runAll({ client }: ControlPlane, names: readonly string[]): Promise<void> {
  for (const name of names) await client.create(KINDS.trainJob, trainJob(name, "quick"));
  await completed(client, names);
}

async function completed(client: ControlPlane["client"], names: readonly string[]) {
  for (const name of names) {
    await trainJobThat(client, name, "is complete", ({ status }) => status?.state === "Complete");
  }
}

interface World {
  readonly plane: ControlPlane;
  readonly api: FaultyApi;
  readonly manager: TestManager;
}

/** The first write to each object is refused as outdated; also those that make one. */
async function everyWriteConflictsOnce({ plane, api }: World): Promise<void> {
  const refused = new Set<string>();
  const written = new Set<string>();
  api.fault = (request) => {
    const path = pathOf(request);
    const isReview = request.path.includes("/tokenreviews");
    if (!isWrite(request) || isReview) return undefined;
    if (refused.has(path)) {
      written.add(path);
      return undefined;
    }
    refused.add(path);
    return statusAnswer(409, "Conflict");
  };
  const names = ["conflict-0", "conflict-1"];
  await runAll(plane, names);
  assert.ok(refused.size >= 8, `refused: ${[...refused].join(", ")}`);
  // A lease is renewed every two seconds only.
  await until(
    "every refused write but events to have been tried again",
    () => [...refused].every((path) => written.has(path) || path.includes("/events")),
  );
  await assertConserved(plane, names, { pods: 1 });
  await assertCreatedOnce(plane, names);
}

/** Asks for so many seconds of rest. */
const REST_SECONDS = 2;

/** A client that gets Retry-After comes back later, and not before. */
async function restIsHeeded({ plane, api }: World): Promise<void> {
  const told = new Map<string, number>();
  const early: string[] = [];
  let heeded = 0;
  api.fault = (request) => {
    const path = pathOf(request);
    if (request.isWatch || path.includes("/tokenreviews")) return undefined;
    const since = told.get(path);
    if (since === undefined) {
      told.set(path, request.atMs);
      const [code, reason] = told.size % 2 === 0
        ? [429, "TooManyRequests"] as const
        : [503, "ServiceUnavailable"] as const;
      return statusAnswer(code, reason, { "retry-after": String(REST_SECONDS) });
    }
    if (request.atMs - since < REST_SECONDS * 1000) early.push(path);
    else heeded++;
    return undefined;
  };
  const names = ["throttled-0"];
  await runAll(plane, names);
  assert.ok(told.size >= 5 && heeded >= 5, `${told.size} told, ${heeded} heeded`);
  assert.deepEqual(early, [], "asked again before the time was over");
  await assertConserved(plane, names, { pods: 1 });
  await assertCreatedOnce(plane, names);
}

const rangeSchema = z.object({ header: z.object({ revision: z.string() }) });

async function etcd({ etcdUrl }: ControlPlane, path: string, body: unknown): Promise<unknown> {
  const answer = await fetch(`${etcdUrl}${path}`, { method: "POST", body: JSON.stringify(body) });
  assert.ok(answer.ok, `etcd answered ${answer.status}`);
  return await answer.json();
}

/** Everything but the present is forgotten while nobody could watch. */
async function historyIsCompacted({ plane, api, manager }: World): Promise<void> {
  const restarts = () => metricOf(manager, `milepost_watch_restarts_total{resource="trainjobs"}`);
  const before = await restarts();
  api.fault = ({ isWatch }) => isWatch ? api.silence() : undefined;
  assert.ok(api.cutWatches() >= 10);
  const names = ["compacted-0", "compacted-1"];
  // One is made and one deleted while the manager is blind.
  await plane.client.delete(KINDS.trainJob, { namespace: "default", name: "conflict-1" });
  for (const name of names) await plane.client.create(KINDS.trainJob, trainJob(name, "quick"));
  const range = await etcd(plane, "/v3/kv/range", { key: btoa("/registry") });
  const { revision } = rangeSchema.parse(range).header;
  // The API server has a memory of its own, which a start empties.
  await plane.apiServer.stop();
  await etcd(plane, "/v3/kv/compaction", { revision, physical: true });
  await plane.apiServer.start();
  await restartControllers(plane);
  api.fault = undefined;
  assert.ok(api.cutWatches() >= 10);
  await completed(plane.client, names);
  assert.ok(await restarts() > before, "the API server said 410, and all was listed anew");
  await until("what was deleted meanwhile to be gone", async () => {
    const { items } = await plane.client.list(KINDS.jobSet, { namespace: "default" });
    return !items.some(({ metadata }) => metadata.name === "conflict-1");
  });
  await assertConserved(plane, [...names, "conflict-0"], { pods: 1 });
  await assertCreatedOnce(plane, names);
}

const CASES: Record<string, (world: World) => Promise<void>> = {
  "every write is answered with a conflict once": everyWriteConflictsOnce,
  "429 and 503 ask for a rest, which is heeded": restIsHeeded,
  "etcd is compacted under the watches (410)": historyIsCompacted,
};

Deno.test("the manager survives every answer of the API server", async (t) => {
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({ audit: AUDIT_WRITES });
  cleanup.defer(() => plane.stop());
  const installation = await install(plane);
  cleanup.defer(() => installation.stop());
  const node = await startTestNode(plane);
  cleanup.defer(() => node.stop());
  const world = { plane, ...await startManagerBehind(plane, installation, cleanup) };
  await plane.client.create(KINDS.clusterTrainingRuntime, shellRuntime("quick", "true"));
  for (const [name, run] of Object.entries(CASES)) {
    await t.step({
      name,
      // The node and its connections live longer than a step; the whole test looks after them.
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () => {
        try {
          await run(world);
        } finally {
          world.api.fault = undefined;
        }
      },
    });
  }
});
