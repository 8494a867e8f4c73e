/** Tests of the stalls of a term: what of silent jobs is told, and when it is taken back. */
import assert from "node:assert/strict";
import { paceOf, stallOf, timeSpentOf } from "../../../crds/job_state.ts";
import type { AnyJob } from "../../../crds/job_kind.ts";
import { pod, RUNNING, scene, type Status } from "./stall_scene.ts";

Deno.test("a job that makes no step says so, within 30 s, and takes it back with the next one", async () => {
  const it = scene();
  await it.add("a");
  await it.train(["a"], 20);
  await it.clock.advance(17_000);
  assert.equal(stallOf(it.object("a")), undefined);
  await it.clock.advance(5_000);
  assert.equal(it.stalled(), 1);
  const { since, time, pods, message, intervalSeconds } = stallOf(it.object("a")) ?? {};
  assert.deepEqual([since, intervalSeconds], ["2026-01-01T00:00:19Z", 1]);
  assert.equal(time, "2026-01-01T00:00:39Z");
  assert.equal(pods, undefined, "its only pod does not stand out");
  assert.equal(message, `no step after 19 since ${since}; usually 1s`);
  assert.equal(it.object("a").status?.["state"], "Running");
  it.push("a", { step: 20, phase: "Training" });
  await it.clock.advance(3_000);
  assert.equal(stallOf(it.object("a")), undefined);
  assert.deepEqual(
    it.events.map(({ name, text }) => [name, text.type, text.reason, text.message]),
    [
      ["a", "Warning", "Stalled", message],
      ["a", "Normal", "ProgressResumed", "makes progress again, after 23s"],
    ],
  );
  await it.end();
});

Deno.test("a pod that reports and makes no step is a witness", async () => {
  const it = scene();
  await it.add("a");
  await it.train(["a"], 20);
  for (let second = 0; second < 30; second++) {
    it.push("a", { step: 19, phase: "Training" });
    await it.clock.advance(1000);
  }
  assert.match(stallOf(it.object("a"))?.message ?? "", /; it still reports, and makes no step$/);
  await it.end();
});

const QUIET: Readonly<Record<string, (it: ReturnType<typeof scene>) => unknown>> = {
  "that is suspended": (it) => it.set("a", { state: "Suspended" }),
  "that is being stopped": (it) =>
    it.set("a", { stop: { reason: "Pruned", message: "", time: "2026-01-01T00:00:00Z" } }),
  "whose pods fail and are started again": (it) =>
    it.set("a", { failure: { headline: "node-0 exited 1", time: "2026-01-01T00:00:00Z" } }),
  "that is being restarted, and whose pods go": async (it) => {
    const time = "2026-01-01T00:00:00Z";
    await it.set("a", { restart: { count: 1, reason: "Asked", message: "", time } });
    const metadata = { ...pod("a", "a-p1").metadata, deletionTimestamp: time };
    it.podSeen("updated", { ...pod("a", "a-p1"), metadata });
    it.podSeen("updated", { ...pod("a", "a-p1"), metadata, status: { phase: "Failed" } });
    it.podSeen("deleted", pod("a", "a-p1"));
  },
  "that has ended": (it) => it.set("a", { conditions: [{ type: "Complete", status: "True" }] }),
  "that is gone": (it) => it.see(it.object("a"), true),
  "that is done": (it) => it.push("a", { step: 20, phase: "Training", progressPercentage: 100 }),
  "whose pod is gone": (it) => it.podSeen("deleted", pod("a", "a-p1")),
  "whose container is started again": (it) =>
    it.podSeen("updated", {
      ...pod("a", "a-p1"),
      failure: { failure: { time: "" }, restarts: 1, ranMs: 1, runsSince: undefined },
    }),
};
for (const [what, happens] of Object.entries(QUIET)) {
  Deno.test(`a job ${what} is not judged`, async () => {
    const it = scene();
    await it.add("a");
    await it.train(["a"], 20);
    await happens(it);
    await it.clock.advance(120_000);
    assert.deepEqual([it.stalled(), it.events], [0, []]);
    await it.end();
  });
}

Deno.test("what is refused, or comes while nobody leads, is not held against a job", async () => {
  const it = scene();
  await it.add("a");
  await it.train(["a"], 20);
  await it.clock.advance(15_000);
  it.refuse("a");
  await it.clock.advance(15_000);
  assert.equal(it.stalled(), 0);
  it.state.leading = false;
  await it.clock.advance(60_000);
  assert.deepEqual([it.stalled(), it.writes], [0, []]);
  await it.end();
});

Deno.test("a pod that has only the label changes nothing", async () => {
  const it = scene();
  await it.add("a");
  await it.train(["a"], 20);
  it.podSeen("added", pod("a", "stranger", { status: { phase: "Pending" } }));
  it.podSeen("deleted", pod("a", "stranger"));
  await it.clock.advance(25_000);
  assert.equal(it.stalled(), 1);
  await it.end();
});

Deno.test("jobs that fall silent together are not called stalled, and learn nothing of it", async () => {
  const it = scene();
  const names = ["a", "b", "c", "d", "e", "f"];
  for (const name of names) await it.add(name);
  await it.train(names, 20);
  await it.clock.advance(600_000);
  assert.deepEqual([it.stalled(), it.events], [0, []]);
  await it.train(names, 20, 20);
  await it.clock.advance(1_000);
  await it.train(names.slice(1), 25, 40);
  assert.deepEqual(it.events.map(({ name }) => name), ["a"], "the silence of all taught nothing");
  await it.end();
});

Deno.test("jobs that are called stalled are no storm for the next one", async () => {
  const it = scene();
  const names = ["a", "b", "c", "d", "e", "f"];
  for (const name of names) await it.add(name);
  let left = names;
  for (let from = 0; left.length > 0; from += 30) {
    await it.train(left, 30, from);
    left = left.slice(1);
  }
  await it.clock.advance(30_000);
  assert.deepEqual(it.events.map(({ name }) => name), names);
  await it.end();
});

/** Lets two pods beat for that many seconds, each ten seconds; `stepOf` says where they are, or nothing of a frozen one. */
async function beating(
  it: ReturnType<typeof scene>,
  seconds: number,
  stepOf: (second: number) => readonly (number | undefined)[],
): Promise<void> {
  for (let second = 0; second < seconds; second += 10) {
    stepOf(second).forEach((step, rank) => {
      if (step === undefined) return;
      const isSame = step === stepOf(second - 10)[rank];
      it.beat("a", `p${rank}`, [[rank, step, isSame ? 10 : 0.5, "train.py:88"]]);
    });
    await it.clock.advance(10_000);
  }
}

Deno.test("heartbeats show steps that nobody pushes", async () => {
  const it = scene();
  await it.add("a");
  it.push("a", { step: 0, phase: "Training" }, "a-p0");
  await beating(it, 1200, (second) => [second, second]);
  assert.deepEqual([it.stalled(), it.events], [0, []]);
  await it.end();
});

Deno.test("a pod that is frozen is named within half a minute of its last heartbeat but one", async () => {
  const it = scene();
  await it.add("a");
  it.push("a", { step: 0, phase: "Training" }, "a-p0");
  await beating(it, 300, (second) => [second, second]);
  await beating(it, 40, (second) => [300 + Math.min(second, 0), second < 0 ? 290 : undefined]);
  const { pods, message = "" } = stallOf(it.object("a")) ?? {};
  assert.deepEqual(pods?.map(({ name, step, place }) => [name, step, place]), [
    ["a-node-0-p1", 290, "train.py:88"],
  ]);
  assert.match(
    message,
    /^no step after 300 since \S+; usually 10s; a-node-0-p1 not heard of since/,
  );
  it.beat("a", "p0", [[0, 301, 0.1, "train.py:88"]]);
  await it.clock.advance(2_000);
  assert.equal(stallOf(it.object("a")), undefined);
  await it.end();
});

Deno.test("a heartbeat that is late, or is lost, is no stall", async () => {
  const it = scene();
  await it.add("a");
  it.push("a", { step: 0, phase: "Training" }, "a-p0");
  await beating(it, 300, (second) => [second, second]);
  await it.clock.advance(12_000);
  await beating(it, 60, (second) => [400 + second, 400 + second]);
  assert.deepEqual(it.events, []);
  await it.end();
});

Deno.test("a pod that stands out later is named later, without another event", async () => {
  const it = scene();
  await it.add("a");
  it.push("a", { step: 0, phase: "Training" }, "a-p0");
  await beating(it, 300, (second) => [second, second, second]);
  await beating(it, 30, () => [300, 300, 300]);
  assert.match(stallOf(it.object("a"))?.message ?? "", /; all 3 ranks at step 300 in train.py:88$/);
  for (const rank of [0, 1]) it.beat("a", `p${rank}`, [[rank, 300, 31, "train.py:88"]]);
  it.beat("a", "p2", [[2, 300, 31, "loader.py:4"]]);
  await it.clock.advance(8_000);
  assert.deepEqual(stallOf(it.object("a"))?.pods?.map(({ name }) => name), ["a-node-0-p2"]);
  assert.equal(it.events.length, 1);
  await it.end();
});

Deno.test("a pod that has ended holds nothing back: the others may hang", async () => {
  const it = scene();
  await it.add("a");
  it.push("a", { step: 0, phase: "Training" }, "a-p0");
  await beating(it, 300, (second) => [second, second]);
  it.podSeen("updated", pod("a", "a-p1", { status: { phase: "Succeeded" } }));
  await beating(it, 40, () => [300]);
  assert.equal(it.stalled(), 1);
  await it.end();
});

Deno.test("jobs of one namespace that fall silent together hide nobody's stall, nor their own", async () => {
  const it = scene();
  const names = ["a", "b", "c", "d", "e"];
  for (const name of names) await it.add(name);
  await it.add("other", RUNNING, "team");
  await it.train([...names, "other"], 20);
  await it.train(["other"], 30, 20);
  assert.deepEqual(it.events.map(({ name }) => name).toSorted(), names);
  await it.clock.advance(25_000);
  assert.equal(it.events.at(-1)?.name, "other");
  await it.end();
});

Deno.test("an annotation that a tenant writes is no stall, and is not written about again and again", async () => {
  const it = scene();
  await it.add("a");
  const { metadata, ...job } = it.object("a");
  const { uid } = metadata;
  const stall = JSON.stringify({ since: "2026-01-01T00:00:00Z", message: "forged", uid });
  const annotations = { "trainer.kubeflow.org/stalled": stall };
  it.see({ ...job, metadata: { ...metadata, annotations } });
  await it.train(["a"], 20);
  assert.deepEqual(it.writes, []);
  await it.clock.advance(23_000);
  assert.deepEqual(it.events.map(({ name }) => name), ["a"]);
  await it.end();
});

Deno.test("a new owner knows that a job is done, and that one without a pace has reported", async () => {
  const it = scene();
  const lastUpdatedTime = "2026-01-01T00:00:00Z";
  const done = { progressPercentage: 100, lastUpdatedTime };
  await it.add("done", { ...RUNNING, trainerStatus: done, pace: { silences: { Any: [1, 9] } } });
  await it.add("begun");
  for (const name of ["done", "begun"]) it.podSeen("added", pod(name, `${name}-p1`));
  await it.clock.advance(3_000_000);
  assert.deepEqual(it.events.map(({ name }) => name), ["begun"]);
  await it.end();
});

const PENDING = { status: { phase: "Pending" } };
const MINUTE = 60_000;
/** What takes the pods of a job that runs, and has it go on in new ones. */
const ANEW: Readonly<Record<string, (it: ReturnType<typeof scene>) => unknown>> = {
  "its restart": async (it) => {
    const restart = { count: 1, reason: "Asked", message: "", time: "2026-01-01T00:01:00Z" };
    await it.set("a", { restart });
    it.podSeen("deleted", pod("a", "a-p1"));
    await it.set("a", { restart: { ...restart, endTime: "2026-01-01T00:02:00Z" } });
  },
  "a restart of its JobSet": (it) => {
    const { metadata } = pod("a", "a-p1");
    const going = { ...metadata, deletionTimestamp: "2026-01-01T00:01:00Z" };
    it.podSeen("updated", { ...pod("a", "a-p1"), metadata: going });
    // Its last words, when it is told to go.
    it.push("a", { step: 20, phase: "Training" });
    it.podSeen("updated", pod("a", "a-p1", { metadata: going, status: { phase: "Succeeded" } }));
    it.podSeen("deleted", pod("a", "a-p1"));
  },
};
for (const [what, happens] of Object.entries(ANEW)) {
  for (const owners of [1, 2]) {
    Deno.test(`a start after ${what} counts from when a pod runs; owners: ${owners}`, async () => {
      const it = scene();
      await it.add("a");
      it.podSeen("added", pod("a", "a-p1"));
      await it.train(["a"], 20);
      await happens(it);
      for (const uid of ["a-p2", "a-p3"]) it.podSeen("added", pod("a", uid, PENDING));
      if (owners > 1) await it.succeed();
      await it.clock.advance(120 * MINUTE);
      assert.deepEqual([it.stalled(), it.events], [0, []], "it waits for a node");
      it.podSeen("updated", pod("a", "a-p2"));
      await it.clock.advance(29 * MINUTE);
      assert.equal(it.stalled(), 0);
      await it.clock.advance(2 * MINUTE);
      assert.equal(it.stalled(), 1);
      await it.end();
    });
  }
}

Deno.test("a heartbeat that comes late does not bring a pod back that is gone", async () => {
  const it = scene();
  await it.add("a");
  for (const uid of ["a-p1", "a-p2"]) it.podSeen("added", pod("a", uid));
  it.beat("a", "p1", [[0, 19, 0, "train.py:1"]]);
  it.beat("a", "p2", [[1, 19, 0, "train.py:1"]]);
  it.podSeen("deleted", pod("a", "a-p2"));
  it.beat("a", "p2", [[1, 19, 0, "train.py:1"]]);
  for (let step = 20; step < 60; step++) {
    for (const [rank, name] of ["p1", "p3"].entries()) it.beat("a", name, [[rank, step, 0, ""]]);
    await it.clock.advance(1000);
  }
  await it.clock.advance(20 * MINUTE);
  const { message = "", pods } = stallOf(it.object("a")) ?? {};
  assert.match(message, /^no step after 59/);
  assert.deepEqual([pods, message.includes("p2")], [undefined, false]);
  await it.end();
});

Deno.test("a new owner judges a job whose pods run already, and were not heard of", async () => {
  const it = scene();
  await it.add("a");
  it.podSeen("added", pod("a", "a-p1"));
  await it.succeed();
  await it.clock.advance(31 * MINUTE);
  assert.equal(it.stalled(), 1);
  await it.end();
});

Deno.test("one step of many processes is one sign", async () => {
  const it = scene();
  await it.add("a");
  for (let rank = 0; rank < 16; rank++) {
    it.beat("a", `p${rank}`, [[rank, 0, 0.4 - rank / 100, "train.py:1"]]);
  }
  await it.clock.advance(1_200_000);
  assert.deepEqual(it.events, [], "it may compile");
  await it.end();
});

Deno.test("what a history brings could not be said before, and teaches nothing", async () => {
  const it = scene();
  await it.add("a");
  await it.train(["a"], 20);
  await it.clock.advance(15_000);
  const earlier = { step: 20, phase: "Training", lastUpdatedTime: "2026-01-01T00:00:00Z" } as const;
  it.push("a", { step: 34, phase: "Training" }, "a-p1", [earlier]);
  await it.train(["a"], 700, 35);
  assert.deepEqual(paceOf(it.object("a"))?.silences.Training?.[0], 1);
  await it.end();
});

Deno.test("a stall that shows late is taken away all the same, also from a job that has ended", async () => {
  const it = scene();
  await it.add("a");
  await it.train(["a"], 20);
  await it.set("a", { stalled: { since: "2026-01-01T00:00:00Z", message: "late" } });
  await it.clock.advance(3_000);
  assert.equal(stallOf(it.object("a")), undefined);
  await it.clock.advance(22_000);
  assert.ok(stallOf(it.object("a")) !== undefined);
  it.push("a", { step: 20, phase: "Training" });
  await it.set("a", { conditions: [{ type: "Complete", status: "True" }] });
  await it.clock.advance(3_000);
  assert.equal(stallOf(it.object("a")), undefined);
  await it.end();
});

Deno.test("the next owner goes on with the stall, and with the pace", async () => {
  const it = scene();
  await it.add("a");
  await it.add("b");
  await it.train(["a", "b"], 30);
  await it.train(["b"], 620, 30);
  assert.deepEqual(paceOf(it.object("b"))?.silences, { Starting: [1, 1], Training: [1, 99] });
  const stall = stallOf(it.object("a"));
  assert.ok(stall !== undefined);
  await it.succeed();
  it.podSeen("added", pod("b", "b-p1"));
  await it.clock.advance(5_000);
  assert.deepEqual(stallOf(it.object("a")), stall);
  it.push("a", { step: 31, phase: "Training" });
  await it.train(["b"], 8, 650);
  assert.equal(stallOf(it.object("a")), undefined);
  await it.clock.advance(23_000);
  assert.deepEqual(it.events.slice(2).map(({ name, text }) => [name, text.reason]), [
    ["b", "Stalled"],
  ], "it need not learn the pace again");
  await it.end();
});

Deno.test("under a definition that drops the field only the event says it, and nothing is written again and again", async () => {
  const it = scene({ drops: true });
  await it.add("a");
  await it.add("b");
  await it.train(["a", "b"], 20);
  await it.clock.advance(60_000);
  assert.equal(it.events.length, 2);
  assert.ok(it.writes.length <= 2, it.writes.join());
  await it.end();
});

const NEW: Status = { state: "Running" };
const RESTART = { count: 1, reason: "Stalled", message: "", time: "2026-01-01T00:00:00Z" };

/** What the job's object says of its time, in the order of the fields: productive, starting, stalled, lost. */
function timeOf(object: AnyJob) {
  const { productiveSeconds, startingSeconds, stalledSeconds, lostSeconds, step, time } =
    timeSpentOf(object) ?? {};
  return { seconds: [productiveSeconds, startingSeconds, stalledSeconds, lostSeconds], step, time };
}

Deno.test("a job says what its time went to: from its pod's start to its end, over a stall and a restart", async () => {
  const it = scene();
  await it.add("a", NEW);
  const started = { status: { phase: "Running", startTime: "2026-01-01T00:00:10Z" } };
  it.podSeen("added", {
    ...pod("a", "a-p1", started),
    metadata: { ...pod("a", "a-p1").metadata, name: "a-node-0-p1" },
  });
  await it.clock.advance(40_000);
  await it.train(["a"], 20);
  await it.clock.advance(30_000);
  assert.deepEqual(timeOf(it.object("a")).seconds, [18, 31, 20, 0], "a stall is told at once");
  await it.set("a", { restart: RESTART });
  await it.clock.advance(60_000);
  assert.deepEqual(
    timeOf(it.object("a")).seconds,
    [18, 31, 31, 0],
    "a restart is no time of the job",
  );
  it.podSeen("deleted", pod("a", "a-p1"));
  await it.set("a", { restart: { ...RESTART, endTime: "2026-01-01T00:03:00Z" } });
  await it.clock.advance(10_000);
  for (let step = 15; step < 40; step++) {
    it.push("a", { step, phase: "Training" }, "a-p2");
    await it.clock.advance(1000);
  }
  await it.set("a", { conditions: [{ type: "Complete", status: "True" }] });
  await it.clock.advance(3_000);
  const { seconds, step } = timeOf(it.object("a"));
  assert.deepEqual(
    [seconds, step],
    [[18 + 20, 31 + 1, 31, 3], 39],
    "steps up to 19 were made again",
  );
  assert.deepEqual(
    ["productive", "starting", "stalled", "lost"].map((on) => Math.round(it.spent.get(on) ?? 0)),
    seconds,
  );
  await it.end();
});

Deno.test("a job that goes on says every ten minutes or so what its time went to, and the next owner counts on", async () => {
  const it = scene();
  await it.add("a", NEW);
  await it.train(["a"], 902);
  const first = timeOf(it.object("a"));
  assert.ok((first.seconds[0] ?? 0) >= 590, first.seconds.join());
  const writes = it.writes.length;
  assert.ok(writes <= 3, it.writes.join());
  // The ledger would write it.
  await it.set("a", RUNNING);
  await it.succeed();
  it.podSeen("added", pod("a", "a-p1"));
  await it.train(["a"], 20, 902);
  await it.set("a", { conditions: [{ type: "Complete", status: "True" }] });
  await it.clock.advance(2_000);
  assert.deepEqual(timeOf(it.object("a")).seconds, [920, 1, 0, 0]);
  await it.end();
});

Deno.test("what comes while a job is suspended, or before its pods are heard of, is no time of it", async () => {
  const it = scene();
  await it.add("a", NEW);
  await it.train(["a"], 20);
  await it.set("a", { state: "Suspended" });
  it.push("a", { step: 20 });
  await it.clock.advance(100_000);
  it.push("a", { step: 21 });
  it.podSeen("deleted", pod("a", "a-p1"));
  await it.set("a", NEW);
  await it.clock.advance(100_000);
  it.push("a", { step: 22 }, "a-p2");
  await it.set("a", { conditions: [{ type: "Complete", status: "True" }] });
  await it.clock.advance(2_000);
  assert.deepEqual(timeOf(it.object("a")).seconds, [18, 1, 0, 0]);
  await it.end();
});

Deno.test("a job that is silent for half of its limit is quiet, until it is heard, or is stalled", async () => {
  const it = scene();
  await it.add("a");
  await it.train(["a"], 20);
  await it.clock.advance(8_000);
  assert.deepEqual(it.quiet, []);
  await it.clock.advance(4_000);
  const since = "2026-01-01T00:00:19Z";
  assert.deepEqual(it.quiet, [`a no step after 19 since ${since}; usually 1s`]);
  it.push("a", { step: 20, phase: "Training" });
  assert.deepEqual(it.quiet.slice(1), ["a goes on"]);
  await it.clock.advance(80_000);
  assert.deepEqual([it.stalled(), it.quiet.length, it.quiet.at(-1)], [1, 4, "a goes on"]);
  await it.end();
});

Deno.test("a stall says the node and the state of a pod that it names, also of one that has not changed since it reported", async () => {
  const it = scene();
  await it.add("a");
  for (const rank of ["p0", "p1"]) {
    const { metadata, ...rest } = pod("a", `a-${rank}`);
    const name = `a-node-0-${rank}`;
    it.podSeen("added", {
      ...rest,
      metadata: { ...metadata, name },
      spec: { nodeName: "n7" },
      isUnready: rank === "p1",
    });
  }
  it.push("a", { step: 0, phase: "Training" }, "a-p0");
  await beating(it, 300, (second) => [second, second]);
  await beating(it, 50, (second) => [300, second < 0 ? 290 : undefined]);
  const { pods, message = "" } = stallOf(it.object("a")) ?? {};
  assert.deepEqual(pods?.map(({ name, node, state }) => [name, node, state]), [
    ["a-node-0-p1", "n7", "Running, not ready"],
  ]);
  assert.match(message, /; a-node-0-p1 \(Running, not ready\) not heard of since/);
  await it.end();
});
