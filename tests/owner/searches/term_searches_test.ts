/** Tests of pruning at the owner: what is recorded before a verdict is answered, and what becomes of it after faults. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import { SinkError } from "../../../owner/observations/sink.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { katibsLog, unsteadySink } from "../observations/observations_fixture.ts";
import { logged, withLogs } from "../../support/logged.ts";
import { createScene, type SceneOptions } from "./search_scene.ts";

const DOWN = new KubeError("the API server is down", { code: 503, reason: "ServiceUnavailable" });
const STOPPED =
  "stopped early: pruner asha: loss 0.9 is number 2 of 2 at step 1, rung 0, where 0.5 goes on";

Deno.test("the push that decides is answered with the stop, once that is recorded", async () => {
  const scene = createScene();
  await scene.owner(async ({ report, stops, settle, clock }) => {
    assert.equal(await report(0, 1, .5), "goes on");
    const asked = report(1, 1, .9);
    await settle();
    assert.equal(stops.length, 0, "one write of a search in 100 ms");
    await clock.advance(100);
    assert.equal(await asked, STOPPED);
    assert.deepEqual(scene.recorded().get(1), {
      rungs: [.9],
      pruned: STOPPED.replace("stopped early: ", ""),
      time: "2026-01-01T00:00:00.000Z",
    });
    await settle();
    const [{ plan, decision } = assert.fail(), ...more] = stops;
    assert.equal(more.length, 0);
    assert.equal(plan.job.name, "digits-01234567-1");
    assert.equal(decision.reason, "Pruned");
    assert.equal(decision.user, undefined);
    assert.equal(await report(1, 2, .1), STOPPED, "later pushes are told, too");
    assert.deepEqual(scene.writes().map((it) => JSON.stringify(it).match(/pruning\.\d/g)), [
      ["pruning.0"],
      ["pruning.1"],
    ]);
  });
});

Deno.test("what many trials reach at once is one write", async () => {
  const scene = createScene({ trials: 12 });
  await scene.owner(async ({ report, clock, stops, settle }) => {
    await report(0, 1, .1);
    const asked = Array.from({ length: 11 }, (_, it) => report(it + 1, 1, 1 - it / 100));
    await settle();
    await clock.advance(100);
    await Promise.all(asked);
    assert.equal(scene.writes().length, 2);
    assert.equal(stops.length, [...scene.recorded().values()].filter((it) => it.pruned).length);
  });
});

const NOT_PRUNED: Readonly<Record<string, SceneOptions>> = {
  "without a pruner": { pruner: { none: true } },
  "whose pruner is invalid": { pruner: { hyperband: {} } },
  "of an earlier search of that name": { controller: { uid: "another" } },
  "of another kind": { controller: { kind: "Experiment" } },
};
for (const [what, options] of Object.entries(NOT_PRUNED)) {
  Deno.test(`a job of a search ${what} costs nothing and is not pruned`, async () => {
    const scene = createScene(options);
    await scene.owner(async ({ report }) => {
      const { length } = scene.cluster.calls;
      for (const trial of [0, 1, 2]) assert.equal(await report(trial, 1, trial), "goes on");
      assert.deepEqual(scene.cluster.calls.slice(length), []);
    });
  });
}

Deno.test("a push that is sent again is no further report", async () => {
  const scene = createScene({ pruner: { median: { n_startup_trials: 1, n_warmup_steps: 2 } } });
  await scene.owner(async ({ report, settle }) => {
    for (const step of [1, 2, 3]) await report(0, step, .1);
    scene.complete(0);
    await settle();
    for (let time = 0; time < 3; time++) assert.equal(await report(1, 1, .9), "goes on");
  });
});

Deno.test("while records cannot be written pushes are taken, and no verdict is answered", async () => {
  await withLogs(async (records) => {
    const scene = createScene();
    let isDown = true;
    scene.cluster.faults.push(({ verb }) => isDown && verb === "patch" ? DOWN : undefined);
    await scene.owner(async ({ report, clock, stops, settle }) => {
      for (const step of [1, 2, 3]) {
        for (const trial of [0, 1, 2]) {
          assert.equal(await report(trial, step, trial), "goes on");
        }
      }
      assert.equal(stops.length, 0);
      await clock.advance(1_000);
      assert.equal(stops.length, 0);
      isDown = false;
      await clock.advance(15_000);
      await settle();
      assert.deepEqual(stops.map(({ plan }) => plan.job.name.at(-1)), ["1", "2"]);
      assert.match(await report(1, 4, 0), /^stopped early: pruner asha: loss 1 is number 2 of 2/);
    });
    const told = records.filter(({ category }) => category.at(-1) === "searches");
    assert.deepEqual(told.filter(({ level }) => level === "warning").map((it) => it.properties), [{
      namespace: "default",
      name: "digits",
      problem: "the API server is down",
    }]);
  });
});

Deno.test("a push waits two seconds for a write that hangs; a later one is told", async () => {
  const scene = createScene();
  const held = Promise.withResolvers<void>();
  await scene.owner(
    async ({ report, clock, stops }) => {
      const first = report(0, 1, .5);
      await clock.advance(1_999);
      const decided = report(1, 1, .9);
      await clock.advance(1);
      assert.equal(await first, "goes on");
      await clock.advance(2_000);
      assert.equal(await decided, "goes on");
      assert.equal(stops.length, 0);
      held.resolve();
      await clock.advance(100);
      assert.equal(stops.length, 1);
      assert.equal(await report(1, 2, .9), STOPPED);
    },
    {},
    (client) => ({
      ...client,
      async patch(...patch) {
        await held.promise;
        return await client.patch(...patch);
      },
    }),
  );
});

for (const isOthers of [false, true]) {
  const what = isOthers
    ? "another search of that name has its records"
    : "there are no records yet";
  Deno.test(`trials are pruned later if ${what}`, async () => {
    const scene = createScene({ hasRecords: false });
    if (isOthers) scene.putRecords({}, "another");
    await scene.owner(async ({ report, clock, stops }) => {
      for (const step of [1, 2]) {
        assert.equal(await report(0, step, .5), "goes on");
        assert.equal(await report(1, step, .9), "goes on");
      }
      await clock.advance(1_000);
      assert.deepEqual([stops.length, scene.writes().length], [0, 0]);
      scene.cluster.remove(KINDS.configMap, "default/digits-trials");
      scene.putRecords();
      await clock.advance(30_000);
      assert.equal(stops.length, 0, "the controller's records say which jobs are trials");
      const asked = report(1, 3, .9);
      await clock.advance(100);
      assert.equal(await asked, STOPPED);
      assert.equal(stops.length, 1);
    });
  });
}

Deno.test("nobody is warned of the records of a former search of the name", async () => {
  const scene = createScene({ hasRecords: false });
  scene.putRecords({}, "former");
  const told = await logged(() =>
    scene.owner(async ({ report, clock }) => {
      assert.equal(await report(0, 1, .5), "goes on");
      await clock.advance(1_000);
    }), "warning");
  assert.deepEqual(told, []);
});

Deno.test("a recorded verdict whose stop is not stored is carried out by the next owner", async () => {
  const scene = createScene();
  scene.putRecords({ "pruning.1": { rungs: [1], pruned: "it was worse" } });
  await scene.owner(({ stops }) => {
    const [{ plan, decision } = assert.fail(), ...more] = stops;
    assert.equal(more.length, 0);
    assert.equal(plan.job.name, "digits-01234567-1");
    assert.deepEqual([decision.reason, decision.message], ["Pruned", "it was worse"]);
    return Promise.resolve();
  });
});

Deno.test("nobody is pruned who is being stopped, or has ended", async () => {
  const scene = createScene();
  const stop = {
    reason: "ByHand",
    message: "enough",
    time: "2026-01-01T00:00:00Z",
    graceSeconds: 60,
  };
  await scene.owner(async ({ report, stored, answers, stops, clock }) => {
    stored.set(scene.planOf(1).job.uid, stop);
    assert.equal(await report(0, 1, .5), "goes on");
    const asked = report(1, 1, .9);
    await clock.advance(100);
    assert.equal(await asked, "stopped early: enough");
    assert.equal(scene.recorded().get(1)?.pruned, undefined);
    assert.deepEqual(scene.recorded().get(1)?.rungs, [.9], "its rungs count all the same");
    answers.delete(scene.planOf(2).job.uid);
    await report(2, 1, .95);
    assert.deepEqual(stops, []);
  });
});

Deno.test("the pruner of a search may change until a trial has pushed", async () => {
  const late = { asha: { min_resource: 9 } };
  const scene = createScene({ pruner: late });
  await scene.owner(async ({ report, clock }) => {
    await clock.advance(10_000);
    scene.prune({ asha: { min_resource: 1, reduction_factor: 3 } });
    assert.equal(await report(0, 1, .5), "goes on");
    scene.prune(late);
    const asked = report(1, 1, .9);
    await clock.advance(100);
    assert.equal(await asked, STOPPED, "that of the first push counts");
  });
});

for (const how of ["delete", "complete"] as const) {
  Deno.test(`a search after its ${how === "delete" ? "deletion" : "end"} prunes nothing`, async () => {
    const scene = createScene();
    await scene.owner(async ({ report, clock, stops }) => {
      await report(0, 1, .5);
      scene.end(how);
      await clock.advance(5_000);
      const writes = scene.writes().length;
      assert.equal(await report(1, 1, .9), "goes on");
      assert.deepEqual([stops.length, scene.writes().length], [0, writes]);
    });
  });
}

Deno.test("while logs cannot be read pushes are taken, and verdicts come later", async () => {
  let isDown = true;
  const inner = createMemorySink();
  const scene = createScene({
    sink: {
      ...inner,
      // Each log is read whole when it is first written to; a search reads one metric.
      read: (key, signal, range) =>
        isDown && range?.metric !== undefined
          ? Promise.reject(new SinkError("unavailable", "down"))
          : inner.read(key, signal, range),
    },
  });
  await scene.owner(async ({ report, clock, stops }) => {
    for (const step of [1, 2]) {
      assert.equal(await report(0, step, .5), "goes on");
      assert.equal(await report(1, step, .9), "goes on");
    }
    isDown = false;
    await clock.advance(15_000);
    assert.equal(stops.length, 0);
    const asked = report(1, 3, .9);
    await clock.advance(100);
    assert.equal(await asked, STOPPED);
    assert.equal(stops.length, 1);
  });
});

/** A sink of which a test sees, and holds up, what searches read: the names of jobs. */
function watchedSink(inner = createMemorySink()) {
  const reads: string[] = [];
  let hold = (_name: string): Promise<void> | undefined => undefined;
  const sink: typeof inner = {
    ...inner,
    async read(key, signal, range) {
      // Each log is read whole when it is first written to; a search reads one metric.
      if (range?.metric === undefined) return await inner.read(key, signal, range);
      reads.push(key.name.at(-1) ?? "");
      await hold(key.name);
      signal.throwIfAborted();
      return await inner.read(key, signal, range);
    },
  };
  return { sink, reads, onRead: (next: typeof hold) => void (hold = next) };
}

Deno.test("a log that cannot be read is left out, and read later; the others are judged", async () => {
  const { sink, reads, onRead } = watchedSink();
  const scene = createScene({ sink });
  const down = new SinkError("unavailable", "down");
  onRead((name) => name.endsWith("-2") ? Promise.reject(down) : undefined);
  await scene.owner(async ({ report, clock }) => {
    assert.equal(await report(2, 1, .4), "goes on");
    assert.equal(await report(0, 1, .5), "goes on");
    const asked = report(1, 1, .9);
    await clock.advance(100);
    assert.equal(await asked, STOPPED);
    assert.equal(scene.recorded().get(2), undefined);
    onRead(() => undefined);
    await clock.advance(15_000);
    await report(0, 2, .5);
    await clock.advance(100);
    assert.deepEqual(scene.recorded().get(2)?.rungs, [.4], "by the push of another");
    assert.deepEqual(reads.filter((it) => it !== "2"), ["0", "1"]);
  });
});

Deno.test("logs of all searches are read four at a time, and their deadline begins with their turn", async () => {
  const { sink, reads, onRead } = watchedSink();
  const scene = createScene({ sink, trials: 9 });
  await scene.owner(async ({ report }) => {
    await Promise.all(Array.from({ length: 9 }, (_, it) => report(it, 1, .5)));
  });
  reads.length = 0;
  const turns: PromiseWithResolvers<void>[] = [];
  onRead(() => {
    const turn = Promise.withResolvers<void>();
    turns.push(turn);
    return turn.promise;
  });
  await scene.owner(async ({ report, clock, settle, stops }) => {
    const asked = report(0, 1, .5);
    for (const count of [4, 8, 9]) {
      await settle();
      assert.equal(reads.length, count);
      // Three times that is longer than the deadline of one.
      await clock.advance(1_900);
      for (const turn of turns.splice(0)) turn.resolve();
    }
    await settle();
    await clock.advance(100);
    assert.equal(await asked, "goes on");
    assert.equal(stops.length, 0);
  });
});

Deno.test("a trial of rungs that has ended is not read again by a new owner", async () => {
  const { sink, reads } = watchedSink();
  const scene = createScene({ sink, pruner: { asha: {} }, trials: 2 });
  await scene.owner(async ({ report, clock, settle }) => {
    for (const step of [1, 2]) await report(0, step, .5);
    await report(1, 1, .4);
    scene.complete(0);
    await settle();
    await clock.advance(100);
    assert.deepEqual(scene.recorded().get(0), { values: [[2, .5]] });
  });
  reads.length = 0;
  await scene.owner(async ({ report, clock }) => {
    const asked = report(1, 2, .4);
    await clock.advance(100);
    assert.equal(await asked, "goes on");
    assert.deepEqual(reads, ["1"]);
    const found = scene.recorded().get(1);
    assert.deepEqual([found?.resource, found?.rungs], [1, [.4]], "the lowest rung is known by it");
  });
});

Deno.test("a job that names the search as its owner is no trial, unless the controller has recorded it", async () => {
  const scene = createScene({ trials: 4, numTrials: 3 });
  const { job: { name } } = scene.planOf(1);
  const record = { name, values: ["1"], created: "2026-01-01T00:00:00Z", state: "Running" };
  scene.putRecords({ "trial.1": { ...record, uid: "of-the-controller" }, "trial.2": record });
  await scene.owner(async ({ report, clock }) => {
    for (const step of [1, 2, 3]) {
      for (const forged of [1, 2, 3]) {
        await report(forged, step, -100);
        await clock.advance(100);
      }
    }
    assert.equal(await report(0, 1, .5), "goes on", "none is better at that rung");
    assert.deepEqual([...scene.recorded().keys()], [0]);
    const reads = scene.cluster.calls.filter(({ verb, kind }) =>
      verb === "get" && kind === "ConfigMap"
    );
    assert.ok(reads.length <= 5, "its pushes have records read only now and then");
    scene.putRecords({ "trial.1": { ...record, uid: scene.planOf(1).job.uid } });
    await clock.advance(15_000);
    await report(1, 4, -100);
    await clock.advance(100);
    assert.deepEqual(scene.recorded().get(1)?.rungs, [-100, -100]);
  });
});

Deno.test("a verdict that was not recorded is decided at the push again, whoever pushed before", async () => {
  const scene = createScene({ pruner: { median: { n_startup_trials: 1 } } });
  let isDown = false;
  scene.cluster.faults.push(({ verb }) => isDown && verb === "patch" ? DOWN : undefined);
  await scene.owner(async ({ report, settle, clock }) => {
    for (const step of [1, 2]) await report(0, step, .1);
    scene.complete(0);
    await settle();
    await clock.advance(100);
    isDown = true;
    assert.equal(await report(1, 1, .9), "goes on", "which its client may never have heard");
  });
  isDown = false;
  await scene.owner(async ({ report, stops }) => {
    assert.equal(await report(2, 1, .05), "goes on");
    assert.equal(stops.length, 0);
    assert.match(await report(1, 1, .9), /pruner median: .* 0.9, is number 2 of 2 at step 1/);
    assert.equal(await report(2, 1, .05), "goes on");
  });
});

for (const [kind, readAgain] of [["median", true], ["asha", false]] as const) {
  const what = readAgain ? "is read again" : "of rungs keeps none";
  Deno.test(`a search whose values have no room in memory ${what}`, async () => {
    const { sink, reads } = watchedSink();
    const pruner = kind === "median"
      ? { median: { n_startup_trials: 1 } }
      : { asha: { min_resource: 9, reduction_factor: 2 } };
    const scene = createScene({ sink, pruner, trials: 2, maxValues: 28 });
    await scene.owner(async ({ report, clock, settle }) => {
      for (let step = 1; step <= 9; step++) await report(0, step, .5);
      scene.complete(0);
      await settle();
      await clock.advance(100);
      reads.length = 0;
      assert.equal(await report(1, 1, .2), "goes on");
      await clock.advance(5_000);
      for (let step = 2; step <= 8; step++) assert.equal(await report(1, step, .2), "goes on");
      assert.equal(reads.length > 1, readAgain);
      await clock.advance(5_000);
      const asked = report(1, 9, kind === "median" ? .2 : .6);
      await clock.advance(100);
      if (kind === "asha") assert.match(await asked, /0.6 is number 2 of 2 at step 9, rung 0/);
      else assert.equal(await asked, "goes on");
      await clock.advance(5_000);
      assert.ok(reads.length <= 4, "not at each push");
    });
  });
}

Deno.test("rows whose write had no answer are reports all the same", async () => {
  const log = unsteadySink();
  const scene = createScene({ sink: log.sink });
  await scene.owner(async ({ report, clock }) => {
    await report(0, 1, .5);
    await report(0, 2, .4);
    await clock.advance(100);
    log.fail("after");
    assert.equal(await report(0, 3, .3), "the observation log is not available: try again soon");
    // The client sends it again, by which its log, and then the search, is read again.
    const asked = report(0, 3, .3);
    await clock.advance(100);
    assert.equal(await asked, "goes on");
    assert.deepEqual(scene.recorded().get(0), { rungs: [.5, .3] });
  });
});

Deno.test("complete trials are compared with under a new owner, also where logs end with the owner", async () => {
  const median = { median: { n_startup_trials: 1 } };
  const scene = createScene({ pruner: median });
  await scene.owner(async ({ report, settle, clock }) => {
    for (const step of [1, 2, 3]) await report(0, step, 1 / step);
    scene.complete(0);
    await settle();
    await clock.advance(100);
    assert.deepEqual(scene.recorded().get(0), { values: [[1, 1], [2, .5], [3, 1 / 3]] });
  });
  await scene.owner(async ({ report }) => {
    assert.equal(await report(1, 1, .9), "goes on");
    assert.match(await report(1, 2, .8), /pruner median: .* 0.8, is number 2 of 2 at step 2/);
  }, { sink: createMemorySink() });
});

Deno.test("values are recorded while their ConfigMap has room, and read from the log otherwise", async () => {
  for (const taken of [500_000, 530_000]) {
    const scene = createScene({ pruner: { median: { n_startup_trials: 1 } } });
    // It is no record, and takes the room of some.
    scene.putRecords({ "trial.99": { text: "ü".repeat(taken / 2) } });
    await scene.owner(async ({ report, settle, clock }) => {
      for (const step of [1, 2]) await report(0, step, .1);
      scene.complete(0);
      await settle();
      await clock.advance(100);
      const { values } = scene.recorded().get(0) ?? assert.fail("it is recorded");
      assert.deepEqual(values, taken < 512 * 1024 ? [[1, .1], [2, .1]] : undefined);
    });
    await scene.owner(async ({ report, clock }) => {
      const asked = report(1, 1, .9);
      await clock.advance(100);
      assert.match(await asked, /pruner median: .* number 2 of 2 at step 1/);
    });
  }
});

Deno.test("a log without steps and pods prunes by what is recorded", async () => {
  const scene = createScene({ sink: katibsLog() });
  await scene.owner(async ({ report, clock }) => {
    await report(0, 1, .5);
    await clock.advance(100);
    await report(0, 2, .4);
  });
  await scene.owner(async ({ report, clock }) => {
    assert.equal(await report(0, 3, .3), "goes on");
    await clock.advance(100);
    assert.deepEqual(scene.recorded().get(0), { rungs: [.5, .3] });
  });
});

/** Losses of three trials, of which the others fall behind the first. */
const LOSSES = [[.5, .4, .3], [.9, .8, .7], [.5, .45, .35]];

/**
 * Reports all of it, each push again until it is answered, by owners who may die in between. Returns the answers by which
 * trials were stopped.
 */
async function tellAll(
  scene: ReturnType<typeof createScene>,
  life: { isDead: boolean },
): Promise<Map<number, string>> {
  const ends = new Map<number, string>();
  const left = [0, 1, 2].flatMap((step) => [0, 1, 2].map((trial) => ({ trial, step })));
  while (left.length > 0) {
    life.isDead = false;
    await scene.owner(async ({ report, clock }) => {
      for (let [next] = left; next !== undefined; [next] = left) {
        const { trial, step } = next;
        if (!ends.has(trial)) {
          const asked = report(trial, step + 1, LOSSES[trial]?.[step] ?? NaN);
          await clock.advance(100);
          const answer = await asked;
          // Who is killed has answered nothing.
          if (life.isDead) return;
          if (answer !== "goes on") ends.set(trial, answer);
        }
        left.shift();
      }
    }, { leading: () => !life.isDead });
  }
  return ends;
}

Deno.test("an owner that is killed at any write decides nothing twice, and nothing else", async () => {
  const kept = (scene: ReturnType<typeof createScene>) =>
    [...scene.recorded()].sort(([a], [b]) => a - b).map((
      [index, { time: _, ...it }],
    ) => [index, it]);
  const calm = createScene();
  const expected = await tellAll(calm, { isDead: false });
  assert.deepEqual([...expected.keys()], [1, 2]);
  const writes = calm.writes().length;
  assert.equal(writes, 5, "one of each rung that is reached");
  for (const phase of ["before", "after"] as const) {
    for (let deadly = 1; deadly <= writes; deadly++) {
      const life = { isDead: false };
      const scene = createScene();
      let count = 0;
      scene.cluster.faults.push(({ verb }, at) => {
        if (!life.isDead && verb === "patch" && at === phase) life.isDead = ++count === deadly;
        return life.isDead ? DOWN : undefined;
      });
      assert.deepEqual(await tellAll(scene, life), expected, `killed ${phase} write ${deadly}`);
      assert.deepEqual(kept(scene), kept(calm), `killed ${phase} write ${deadly}`);
    }
  }
});
