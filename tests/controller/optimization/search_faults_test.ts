/** Tests of the controller of OptimizationJobs under faults: killed at every write, refused once, with caches that lag. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import type { OptimizationJob } from "../../../crds/optimization_job.ts";
import { optimizationJob } from "../../trials/search/builders.ts";
import { killAt } from "../../support/kill.ts";
import { conflict } from "../memory_cluster.ts";
import { hasEnded, SearchWorld } from "./search_world.ts";

const TRIALS = 6;
const RANDOM = optimizationJob({
  spec: { numTrials: TRIALS, parallelTrials: 3, searchAlgorithm: { random: { seed: 7 } } },
});
const GRID = optimizationJob({
  parameters: ["a categorical x y z", "b categorical 1 2"],
  spec: { numTrials: TRIALS, parallelTrials: 3, searchAlgorithm: { grid: {} } },
});

/** Runs a search: each trial ends once it has been made, one fails, one is stopped. */
async function run(world: SearchWorld, search: OptimizationJob): Promise<void> {
  await world.create(search);
  for (let index = 0; index < TRIALS; index++) {
    const type = index === 1 ? "Failed" : index === 2 ? "EarlyStopped" : "Complete";
    await world.end(index, type, { value: String((index * 7 + 3) % 5) });
  }
}

/** What is there at the end, without what may differ. */
function atEnd(world: SearchWorld) {
  return {
    status: world.search.status?.conditions?.map(({ type, status, reason }) =>
      `${type}=${status}/${reason}`
    ).sort(),
    result: world.search.status?.result,
    states: world.states,
    values: [...world.records.values()].map(({ values }) => values),
    env: world.trials.map(({ spec }) => spec.trainer?.env),
  };
}

for (const [name, search] of [["random", RANDOM], ["grid", GRID]] as const) {
  for (const phase of ["before", "after"] as const) {
    Deno.test(`a ${name} search that is killed ${phase} each write ends as without`, async () => {
      const undisturbed = new SearchWorld();
      await run(undisturbed, search);
      const want = atEnd(undisturbed);
      equal(want.states.length, TRIALS);
      for (let write = 0;; write++) {
        const world = new SearchWorld();
        const killed = killAt(world, { write, phase });
        await run(world, search);
        deepEqual(atEnd(world), want, `killed ${phase} write ${write}`);
        equal(world.trials.length, TRIALS);
        ok(world.mostOpen <= 3, `${world.mostOpen} ran`);
        ok(world.trials.every(hasEnded));
        if (!killed()) {
          ok(write > 15, `only ${write} writes`);
          break;
        }
      }
    });
  }
}

Deno.test("a search each write of which is refused once ends as without", async () => {
  const undisturbed = new SearchWorld();
  await run(undisturbed, RANDOM);
  const world = new SearchWorld();
  const refused = new Set<string>();
  world.cluster.faults.push(({ verb, kind, key, body, subresource }, phase) => {
    const call = JSON.stringify([verb, kind, key, subresource, body]);
    if (phase === "after" || verb === "get" || refused.has(call)) return;
    refused.add(call);
    return conflict(key);
  });
  await run(world, RANDOM);
  const [got, want] = [atEnd(world), atEnd(undisturbed)];
  deepEqual(got.status, want.status);
  deepEqual(got.states, want.states);
  deepEqual(got, want);
  ok(refused.size > 10);
});

Deno.test("a search with caches that show none of its own writes makes no trial twice", async () => {
  const world = new SearchWorld();
  world.cluster.put(KINDS.optimizationJob, RANDOM);
  world.cluster.hold();
  for (let pass = 0; pass < 5; pass++) {
    world.driver.enqueue("ns/digits");
    await world.settle();
  }
  equal(world.creations.length, 3);
  deepEqual(world.driver.errors, []);
  world.cluster.catchUp();
  await world.settle();
  equal(world.trials.length, 3);
});
