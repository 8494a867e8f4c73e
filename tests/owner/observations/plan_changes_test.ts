/** Tests of a log whose plan changes while rows are on their way into it. */
import assert from "node:assert/strict";
import { createLogActor, type LogActor } from "../../../owner/observations/log_actor.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import type { ObservationSink } from "../../../owner/observations/sink.ts";
import type { ObservationPlan } from "../../../trials/plan/observation_plan.ts";
import { ONE_RUN } from "../../../trials/recording/present_run.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";
import { pushOf, trialPlan } from "./observations_fixture.ts";

const never = new AbortController().signal;

/** A sink that holds the calls of one verb until they are let go: writes before they are done, reads after. */
function heldSink(inner: ObservationSink = createMemorySink()) {
  let gate: PromiseWithResolvers<void> | undefined;
  let verb: "append" | "read" | undefined;
  const sink: ObservationSink = {
    ...inner,
    async append(...call) {
      if (verb === "append") await gate?.promise;
      await inner.append(...call);
    },
    async read(...call) {
      const rows = await inner.read(...call);
      if (verb === "read") await gate?.promise;
      return rows;
    },
  };
  return {
    sink,
    hold(which: "append" | "read") {
      verb = which;
      gate = Promise.withResolvers();
    },
    letGo() {
      verb = undefined;
      gate?.resolve();
    },
  };
}

const RULE = { name: "loss", value: "0.5", comparison: "greater", startStep: 4 } as const;
const PLAN = trialPlan("a", { rules: [RULE] });
/** The plan after a change by which rows mean something else. */
const CHANGED: ObservationPlan = {
  ...PLAN,
  rules: [RULE, { name: "loss", value: "9", comparison: "greater" }],
};

function actorOn(sink: ObservationSink): LogActor {
  return createLogActor(PLAN, {
    sink,
    clock: new FakeClock(),
    sinkMs: 1000,
    presentRun: () => Promise.resolve(ONE_RUN),
    leading: () => true,
    onChange: () => {},
    onTaken: () => {},
    onUnknown: () => {},
    onRefused: (_, problem) => assert.fail(problem),
    onUnreported: (_, names) => assert.fail(names.join()),
  });
}

const push = (actor: LogActor, step: number, loss: string) =>
  actor.accept(pushOf(PLAN, step, loss), never);

/** What the state says of the loss. */
async function lossOf(actor: LogActor): Promise<unknown> {
  const [loss] = (await actor.load()).observation();
  return loss && { min: loss.min, max: loss.max, latest: loss.latest };
}

Deno.test("rows that were on their way when the plan changed are in the state of the log", async () => {
  const { sink, hold, letGo } = heldSink();
  const actor = actorOn(sink);
  await push(actor, 1, "0.4");
  hold("append");
  const pushed = push(actor, 2, "0.1");
  await settlePromises();
  actor.usePlan(CHANGED);
  // Whoever looks now reads a log without the row.
  assert.deepEqual(await lossOf(actor), { min: "0.4", max: "0.4", latest: "0.4" });
  letGo();
  assert.deepEqual(await pushed, { ok: true });
  assert.deepEqual(await lossOf(actor), { min: "0.1", max: "0.4", latest: "0.1" });
});

Deno.test("a read that began before the rows were written is not the state of the log", async () => {
  const { sink, hold, letGo } = heldSink();
  const held = heldSink(sink);
  const actor = actorOn(held.sink);
  await push(actor, 1, "0.4");
  hold("append");
  const pushed = push(actor, 2, "0.1");
  await settlePromises();
  actor.usePlan(CHANGED);
  held.hold("read");
  const looked = lossOf(actor);
  await settlePromises();
  letGo();
  await settlePromises();
  held.letGo();
  assert.deepEqual(await pushed, { ok: true });
  await looked;
  assert.deepEqual(await lossOf(actor), { min: "0.1", max: "0.4", latest: "0.1" });
});

Deno.test("reports that were on their way when the plan changed count for the steps of its rules", async () => {
  const { sink, hold, letGo } = heldSink();
  const actor = actorOn(sink);
  await push(actor, 1, "0.6");
  hold("append");
  const pushed = push(actor, 2, "0.6");
  await settlePromises();
  actor.usePlan(trialPlan("a", { rules: [{ ...RULE, startStep: 3 }] }));
  await actor.load();
  letGo();
  await pushed;
  await push(actor, 3, "0.6");
  assert.match((await actor.load()).verdict?.message ?? "", /at report 3$/);
});

Deno.test("rules of a plan that changed during an append are not told as met", async () => {
  const { sink, hold, letGo } = heldSink();
  const actor = actorOn(sink);
  for (const step of [1, 2, 3]) await push(actor, step, "0.6");
  hold("append");
  const pushed = push(actor, 4, "0.6");
  await settlePromises();
  actor.usePlan(CHANGED);
  letGo();
  assert.deepEqual(await pushed, { ok: true });
});
