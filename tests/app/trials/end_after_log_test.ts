/** Test of the order of a trial's end: its TrainJob is Complete only when the log has every accepted row. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { createSettling } from "../../../controller/trainjob/settling.ts";
import { SETTLE_MS } from "../../../controller/trainjob/trials.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { jobRefOf } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { Observations } from "../../../owner/observations/observations.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import type { ObservationSink } from "../../../owner/observations/sink.ts";
import type { ObservationPlan } from "../../../trials/plan/observation_plan.ts";
import { runtime, trainJob } from "../../controller/builders.ts";
import { KEY, World } from "../../controller/trainjob/world.ts";
import {
  type ObservationsFixture,
  trialPlan,
  withObservations,
} from "../../owner/observations/observations_fixture.ts";

/** A trial over the TrainJob of the world. */
function planFor(rules: ObservationPlan["rules"] = []): ObservationPlan {
  const job = { kind: TRAINJOB, namespace: "ml", name: "tj", uid: "uid-of-tj" };
  return trialPlan("tj", { job, rules });
}

/** A log whose writes wait for the test. */
function slowSink() {
  const inner = createMemorySink();
  const gate = Promise.withResolvers<void>();
  const sink: ObservationSink = {
    ...inner,
    async append(key, rows, signal) {
      await gate.promise;
      await inner.append(key, rows, signal);
    },
  };
  return { sink, inner, release: gate.resolve };
}

/** A TrainJob whose JobSet has completed, and how often it was woken. */
async function ended(fixture: ObservationsFixture, observations: Observations) {
  const world = new World();
  const woken: string[] = [];
  const settling = createSettling({
    settle: (trainJob, signal) => observations.settle(jobRefOf(TRAINJOB, trainJob), signal),
    clock: fixture.clock,
  });
  const end = settling.start((key) => void woken.push(key));
  Object.assign(world.options, { settling });
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  await world.settle();
  world.report({ conditions: [world.condition("Completed", "True", "Done", "done")] });
  return { world, woken, settling: { end } };
}

Deno.test("a trial's TrainJob is Complete once its accepted pushes are in the log, not before", async () => {
  const { sink, inner, release } = slowSink();
  const plan = planFor();
  await withObservations({ plans: [plan], sink }, async (fixture) => {
    const answer = fixture.push(plan, 1, "0.4");
    await fixture.settle();
    const { world, woken, settling } = await ended(fixture, fixture.observations);
    await world.settle();
    deepEqual(world.conditions, []);
    release();
    await fixture.settle();
    equal((await answer)?.ok, true);
    deepEqual(woken, [KEY]);
    const { signal } = new AbortController();
    const rows = await inner.read(plan.key, signal);
    deepEqual(rows.map(({ name, value }) => [name, value]), [["loss", "0.4"]]);
    await world.settle();
    deepEqual(world.conditions, ["Complete=True/Done: done"]);
    settling.end();
  });
});

Deno.test("a trial's TrainJob waits at most 5 s for a log that is not completed", async () => {
  const { sink, release } = slowSink();
  const plan = planFor();
  await withObservations({ plans: [plan], sink, sinkMs: 60_000 }, async (fixture) => {
    const answer = fixture.push(plan, 1, "0.4");
    const { world, woken, settling } = await ended(fixture, fixture.observations);
    await world.settle();
    await fixture.clock.advance(SETTLE_MS - 1);
    await world.settle();
    deepEqual(world.conditions, []);
    await fixture.clock.advance(1);
    deepEqual(woken, [KEY]);
    await world.settle();
    deepEqual(world.conditions, ["Complete=True/Done: done"]);
    settling.end();
    release();
    await answer;
  });
});

Deno.test("a stop that waits for its grace is written before the job's own end", async () => {
  const plan = {
    ...planFor([{ name: "loss", value: "0.5", comparison: "greater" }]),
    graceMs: 3_600_000,
  };
  await withObservations({ plans: [plan] }, async (fixture) => {
    await fixture.push(plan, 1, "0.9");
    equal(fixture.stops.length, 0);
    const { world, woken, settling } = await ended(fixture, fixture.observations);
    await world.settle();
    await fixture.settle();
    equal(fixture.stops.length, 1);
    deepEqual(woken, [KEY]);
    settling.end();
  });
});

Deno.test("a plain TrainJob ends at once", async () => {
  await withObservations({}, async (fixture) => {
    const { world, woken, settling } = await ended(fixture, fixture.observations);
    await world.settle();
    deepEqual(world.conditions, ["Complete=True/Done: done"]);
    ok(woken.length === 0);
    settling.end();
  });
});
