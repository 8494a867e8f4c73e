/** Tests of `platform/kube/controller.ts`: keys, retries, and the end of a controller. */
import assert from "node:assert/strict";
import {
  type ControllerOptions,
  createController,
  type ReconcileOutcome,
} from "../../../platform/kube/controller.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { logged } from "../../support/logged.ts";
import { FakeClock, settle, until } from "../../support/fake_clock.ts";

/** Runs a controller on a clock that stands still until the test moves it. */
async function withController(
  reconcile: ControllerOptions["reconcile"],
  test: (world: {
    clock: FakeClock;
    controller: ReturnType<typeof createController>;
    outcomes: ReconcileOutcome[];
  }) => Promise<void>,
  options: Partial<ControllerOptions> = {},
): Promise<void> {
  const clock = new FakeClock();
  const outcomes: ReconcileOutcome[] = [];
  const controller = createController({
    name: "test",
    reconcile,
    clock,
    random: () => 1,
    metrics: { reconciled: (_name, outcome) => outcomes.push(outcome) },
    ...options,
  });
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  try {
    await test({ clock, controller, outcomes });
  } finally {
    stop.abort();
    await running;
    assert.equal(clock.sleeping, 0);
  }
}

Deno.test("`createController()` reconciles a key once for many calls before it is taken", async () => {
  const keys: string[] = [];
  const clock = new FakeClock();
  const controller = createController({
    name: "test",
    clock,
    reconcile: (key) => {
      keys.push(key);
      return Promise.resolve();
    },
  });
  for (const key of ["a", "b", "a", "a"]) controller.enqueue(key);
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  await settle();
  assert.deepEqual(keys, ["a", "b"]);
  stop.abort();
  await running;
});

Deno.test("`createController()` works on several keys at a time, but never twice on one", async () => {
  let most = 0;
  const atWork = new Map<string, number>();
  const total = new Map<string, number>();
  const reconcile = async (key: string) => {
    const now = (atWork.get(key) ?? 0) + 1;
    assert.equal(now, 1, `${key} is worked on twice`);
    atWork.set(key, now);
    most = Math.max(most, [...atWork.values()].filter((count) => count > 0).length);
    await settle(1);
    atWork.set(key, 0);
    total.set(key, (total.get(key) ?? 0) + 1);
  };
  await withController(reconcile, async ({ controller }) => {
    for (let round = 0; round < 20; round++) {
      for (const key of ["a", "b", "c"]) controller.enqueue(key);
      await settle(1);
    }
    await until("all are done", () => [...atWork.values()].every((count) => count === 0));
    assert.equal(most, 3);
    for (const key of ["a", "b", "c"]) assert.ok((total.get(key) ?? 0) >= 5);
  }, { workers: 3 });
});

Deno.test("`createController()` tries again later and later after errors, until it succeeds", async () => {
  const at: number[] = [];
  let clockOf = new FakeClock();
  const reconcile = () => {
    at.push(clockOf.monotonic());
    return at.length < 5 ? Promise.reject(new Error("not yet")) : Promise.resolve();
  };
  await withController(reconcile, async ({ clock, controller, outcomes }) => {
    clockOf = clock;
    controller.enqueue("a");
    await clock.advance(1000);
    assert.deepEqual(at, [0, 5, 15, 35, 75]);
    assert.deepEqual(outcomes, ["error", "error", "error", "error", "success"]);
  });
});

Deno.test("`createController()` warns of conflicts when they go on, and not before", async () => {
  const records = await logged(async () => {
    const changed = new KubeError("it has changed", { code: 409, reason: "Conflict" });
    await withController(() => Promise.reject(changed), async ({ clock, controller, outcomes }) => {
      controller.enqueue("a");
      await clock.advance(200);
      assert.equal(outcomes.length, 6);
    });
  });
  const levels = records.map(({ level }) => level);
  assert.deepEqual(levels, ["debug", "debug", "debug", "debug", "warning", "warning"]);
});

Deno.test("`createController()` waits as long as the server asks for", async () => {
  let calls = 0;
  const busy = new KubeError("busy", { code: 429, reason: "TooManyRequests", retryAfterMs: 4000 });
  const reconcile = () => ++calls === 1 ? Promise.reject(busy) : Promise.resolve();
  await withController(reconcile, async ({ clock, controller }) => {
    controller.enqueue("a");
    await clock.advance(3999);
    assert.equal(calls, 1);
    await clock.advance(1);
    assert.equal(calls, 2);
  });
});

Deno.test("`createController()` requeues when the reconciliation asks for it", async () => {
  let calls = 0;
  const reconcile = () => Promise.resolve(++calls === 1 ? { requeueAfterMs: 60_000 } : undefined);
  await withController(reconcile, async ({ clock, controller, outcomes }) => {
    controller.enqueue("a");
    await clock.advance(0);
    assert.equal(calls, 1);
    await clock.advance(59_999);
    assert.equal(calls, 1);
    await clock.advance(1);
    assert.deepEqual(outcomes, ["requeue", "success"]);
  });
});

Deno.test("`createController()` takes a time that is no number for an error, and backs off", async () => {
  const reconcile = () => Promise.resolve({ requeueAfterMs: NaN });
  await withController(reconcile, async ({ clock, controller, outcomes }) => {
    controller.enqueue("a");
    await settle();
    await clock.advance(1000);
    assert.ok(outcomes.length > 1 && outcomes.length < 12, `${outcomes.length} passes`);
    assert.ok(outcomes.every((it) => it === "error"));
  });
});

Deno.test("`createController()` comes back for what is due, whatever the back-off after an error is", async () => {
  const at: number[] = [];
  let clockOf = new FakeClock();
  const error = new Error("refused");
  const reconcile = () => {
    const now = clockOf.monotonic();
    at.push(now);
    return Promise.resolve(now < 100_000 ? { error, requeueAfterMs: 100_000 - now } : { error });
  };
  const backoff = { firstMs: 60_000, longestMs: 300_000 };
  await withController(reconcile, async ({ clock, controller, outcomes }) => {
    clockOf = clock;
    controller.enqueue("a");
    await clock.advance(100_000 + 239_999);
    assert.deepEqual(at, [0, 60_000, 100_000]);
    assert.deepEqual(outcomes, ["error", "error", "error"]);
  }, { backoff });
});

Deno.test("`createController()` aborts a reconciliation at its deadline and tries again", async () => {
  let calls = 0;
  const reconcile = (_key: string, signal: AbortSignal) =>
    ++calls > 1 ? Promise.resolve() : new Promise<void>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("aborted")));
    });
  await withController(reconcile, async ({ clock, controller, outcomes }) => {
    controller.enqueue("a");
    await clock.advance(2000);
    assert.deepEqual(outcomes, ["error", "success"]);
  }, { deadlineMs: 1000 });
});

Deno.test("`run()` settles after abort, when the key in hand is done", async () => {
  const controller = createController({
    name: "test",
    clock: new FakeClock(),
    reconcile: async (_key, signal) => {
      events.push("begun");
      await until("the signal aborted", () => signal.aborted);
      events.push("ended");
    },
  });
  const events: string[] = [];
  const stop = new AbortController();
  controller.enqueue("a");
  controller.enqueue("never");
  const running = controller.run(stop.signal);
  await until("it began", () => events.length === 1);
  stop.abort();
  await running;
  assert.deepEqual(events, ["begun", "ended"]);
  await assert.rejects(controller.run(stop.signal), /once/);
});

Deno.test("`run()` settles at once with an aborted signal", async () => {
  const controller = createController({
    name: "test",
    clock: new FakeClock(),
    reconcile: () => Promise.reject(new Error("must not be called")),
  });
  controller.enqueue("a");
  await controller.run(AbortSignal.abort());
});

Deno.test("`createController()` refuses an invalid number of workers", () => {
  const reconcile = () => Promise.resolve();
  for (const workers of [0, -1, 1.5, NaN]) {
    assert.throws(() => createController({ name: "test", reconcile, workers }), RangeError);
  }
});
