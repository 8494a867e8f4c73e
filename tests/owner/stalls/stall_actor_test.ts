/** Tests of what a term does with stalled jobs by their policies: restarts, ends, and why there are none. */
import assert from "node:assert/strict";
import { endOf, restartOf, stallOf } from "../../../crds/job_state.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { ALLOWED, killedAt } from "./killed_owner.ts";
import { RUNNING, scene, type Status } from "./stall_scene.ts";

const SAVED = { ...RUNNING, checkpoint: { step: 15, time: "2026-01-01T00:00:00Z" } };
const RESTART = { action: "Restart" } as const;

/** Lets the jobs train for 20 steps, and then beat without one for a while. */
async function hang(
  it: ReturnType<typeof scene>,
  names: readonly string[],
  seconds = 30,
): Promise<void> {
  await it.train(names, 20);
  await beats(it, names, seconds);
}

async function beats(
  it: ReturnType<typeof scene>,
  names: readonly string[],
  seconds: number,
  step = 19,
) {
  for (let second = 0; second < seconds; second += 5) {
    for (const name of names) it.beat(name, "p1", [[0, step, second, "train.py:1"]]);
    await it.clock.advance(5000);
  }
}

const told = (it: ReturnType<typeof scene>, name?: string) =>
  it.events.filter((event) => name === undefined || event.name === name)
    .map(({ text }) => text.reason);

/** What a reconciler does: the restart is over, in new pods. */
async function execute(it: ReturnType<typeof scene>, name: string): Promise<void> {
  const restart = restartOf(it.object(name));
  assert.ok(restart !== undefined && restart.endTime === undefined);
  await it.set(name, { restart: { ...restart, endTime: new Date(it.clock.now()).toISOString() } });
}

Deno.test("a job that hangs is restarted, with its budget, and says so", async () => {
  const it = scene({ policy: RESTART });
  await it.add("a", SAVED);
  await hang(it, ["a"]);
  const { count, reason, message, user, endTime, step, budget } = restartOf(it.object("a")) ?? {};
  assert.deepEqual([count, reason, user, endTime, step], [1, "Stalled", undefined, undefined, 19]);
  assert.match(message ?? "", /^no step after 19 since 2026-01-01T00:00:19Z; usually 1s/);
  const times = budget?.times ?? [];
  assert.deepEqual(budget, { spent: 1, checkpoint: 15, times, step: 19, stalls: 1 });
  assert.equal(times.length, 1);
  assert.deepEqual(told(it), ["Stalled", "Restarting"]);
  assert.equal(stallOf(it.object("a")), undefined, "it need not make progress now");
  await it.clock.advance(60_000);
  assert.equal(restartOf(it.object("a"))?.count, 1);
  await it.end();
});

const HELD: Record<
  string,
  {
    status?: Status;
    policy?: object;
    beats?: boolean;
    annotation?: string;
    note: string | undefined;
  }
> = {
  "of which no pod is heard": { beats: false, note: "none of its pods is heard" },
  "without a checkpoint": { status: RUNNING, note: "it has reported no checkpoint" },
  "whose policy allows no restart": {
    policy: { ...RESTART, maxRestarts: 0 },
    note: "maxRestarts is 0",
  },
  "whose own policy is to tell": { annotation: '{"action": "Notify"}', note: undefined },
  "whose policy cannot be read": { annotation: '{"action": "Restart", "x": 1}', note: undefined },
};
for (const [what, { status = SAVED, policy = RESTART, note, ...more }] of Object.entries(HELD)) {
  Deno.test(`a job ${what} is told, and not restarted`, async () => {
    const it = scene({ policy });
    const { annotation } = more;
    const annotations = annotation === undefined
      ? undefined
      : { [ANNOTATIONS.stallPolicy]: annotation };
    await it.add("a", status, "default", annotations);
    if (more.beats === false) {
      await it.train(["a"], 20);
      await it.clock.advance(40_000);
    } else await hang(it, ["a"], 40);
    assert.equal(restartOf(it.object("a")), undefined);
    const message = stallOf(it.object("a"))?.message ?? "";
    assert.match(message, /^no step after 19/);
    assert.equal(/; not restarted: (.*)$/.exec(message)?.[1], note);
    const stalled = it.events.find(({ text }) => text.reason === "Stalled");
    const own = note === undefined ? message : `; not restarted: ${note}`;
    assert.equal(stalled?.text.message.endsWith(own), true);
    const limits = told(it).filter((reason) => reason === "RestartLimitReached");
    assert.equal(limits.length, note === "maxRestarts is 0" ? 1 : 0);
    const invalid = it.events.filter(({ text }) => text.reason === "StallPolicyInvalid");
    assert.deepEqual(
      invalid.map(({ text }) => text.message),
      annotation?.includes("x")
        ? [`${ANNOTATIONS.stallPolicy} is not applied: x: is not known`]
        : [],
    );
    const before = it.writes.length;
    await beats(it, ["a"], 300);
    assert.ok(it.writes.length <= before + 6, "it is not written again and again");
    await it.end();
  });
}

Deno.test("a job of which nobody is heard is restarted after a time that its policy says", async () => {
  const it = scene({ policy: { ...RESTART, afterMs: 600_000 } });
  await it.add("a", SAVED);
  await it.train(["a"], 20);
  await it.clock.advance(590_000);
  assert.equal(it.stalled(), 0);
  await it.clock.advance(20_000);
  assert.equal(restartOf(it.object("a"))?.count, 1);
  await it.end();
});

Deno.test("the policy of the runtime holds where the job has none", async () => {
  const it = scene({ runtimePolicy: '{"action": "Restart"}' });
  await it.add("a", SAVED);
  await it.add("b", SAVED, "default", { [ANNOTATIONS.stallPolicy]: "{}" });
  await hang(it, ["a", "b"]);
  assert.equal(restartOf(it.object("a"))?.count, 1);
  assert.equal(restartOf(it.object("b")), undefined);
  await it.end();
});

Deno.test("`Ignore` judges and tells nothing", async () => {
  const it = scene({ policy: { action: "Ignore" } });
  await it.add("a", SAVED);
  await hang(it, ["a"], 3600);
  assert.deepEqual([it.events, it.stalled(), stallOf(it.object("a"))], [[], 0, undefined]);
  await it.end();
});

Deno.test("`Stop` ends the job as failed, with what was found", async () => {
  const it = scene({ policy: { action: "Stop" } });
  await it.add("a");
  await hang(it, ["a"]);
  const job = it.object("a");
  assert.equal(endOf(TRAINJOB, job), "Failed");
  const [condition] = job.status?.conditions ?? [];
  assert.deepEqual([condition?.type, condition?.reason], ["Failed", "Stalled"]);
  assert.match(condition?.message ?? "", /^no step after 19 since/);
  assert.deepEqual(told(it), ["Stalled", "Failed"]);
  await it.end();
});

Deno.test("restarts go on up to the limit, which is told once a stall", async () => {
  const it = scene({ policy: { ...RESTART, maxRestarts: 2, startupMs: 60_000 } });
  await it.add("a", SAVED);
  await hang(it, ["a"]);
  for (let count = 1; count <= 2; count++) {
    assert.equal(restartOf(it.object("a"))?.count, count);
    await execute(it, "a");
    await it.train(["a"], 100 * count, 15);
    await beats(it, ["a"], 30, 14 + 100 * count);
  }
  await beats(it, ["a"], 120, 214);
  assert.equal(restartOf(it.object("a"))?.count, 2);
  assert.deepEqual(told(it, "a").filter((it) => it !== "Stalled"), [
    "Restarting",
    "Restarting",
    "RestartLimitReached",
  ]);
  const limit = it.events.find(({ text }) => text.reason === "RestartLimitReached")?.text.message;
  assert.equal(
    limit,
    "not restarted any more: it was restarted 2 times since its checkpoint of step 15",
  );
  await it.set("a", { checkpoint: { step: 200, time: "2026-01-01T00:09:00Z" } });
  await beats(it, ["a"], 30, 214);
  assert.equal(restartOf(it.object("a"))?.count, 3, "a checkpoint begins anew");
  await it.end();
});

Deno.test("a run that makes no step after its restart has the time of a start", async () => {
  const it = scene({ policy: { ...RESTART, startupMs: 300_000, afterMs: 30_000 } });
  await it.add("a", SAVED);
  await hang(it, ["a"], 60);
  await execute(it, "a");
  await it.clock.advance(20_000);
  it.push("a", { step: 19, phase: "Starting" });
  await beats(it, ["a"], 200);
  assert.equal(restartOf(it.object("a"))?.count, 1);
  await beats(it, ["a"], 200);
  assert.equal(restartOf(it.object("a"))?.count, 2);
  await it.end();
});

Deno.test("six jobs a minute are restarted, two of a namespace; the others have their turn", async () => {
  const it = scene({ policy: RESTART });
  // Those that go on make it no storm.
  const busy = Array.from({ length: 40 }, (_, at) => `busy-${at}`);
  const stalled = Array.from({ length: 4 }, (_, at) => `hung-${at}`);
  for (const name of busy) await it.add(name);
  for (const name of stalled) await it.add(name, SAVED);
  await it.train([...busy, ...stalled], 20);
  const count = () => stalled.filter((name) => restartOf(it.object(name)) !== undefined).length;
  for (let step = 20; step < 50; step += 5) {
    for (const name of stalled) it.beat(name, "p1", [[0, 19, step - 19, "train.py:1"]]);
    await it.train(busy, 5, step);
  }
  assert.equal(count(), 2);
  for (let step = 50; step < 120; step += 5) {
    for (const name of stalled) it.beat(name, "p1", [[0, 19, step - 19, "train.py:1"]]);
    await it.train(busy, 5, step);
  }
  assert.equal(count(), 4);
  await it.end();
});

Deno.test("of many jobs that stall together none is restarted", async () => {
  const it = scene({ policy: RESTART });
  const names = Array.from({ length: 6 }, (_, at) => `job-${at}`);
  for (const name of names) await it.add(name, SAVED);
  await hang(it, names, 120);
  await it.clock.advance(0);
  assert.ok(names.every((name) => restartOf(it.object(name)) === undefined));
  // After half an hour they are told all the same.
  await beats(it, names, 1900);
  assert.equal(it.stalled(), 6);
  assert.ok(names.every((name) => restartOf(it.object(name)) === undefined));
  assert.match(
    stallOf(it.object("job-0"))?.message ?? "",
    /; not restarted: many jobs are stalled/,
  );
  await it.end();
});

Deno.test("a stall in which nothing changes is not written again; its note stays true", async () => {
  const it = scene({ policy: { ...RESTART, maxRestarts: 0 } });
  await it.add("a");
  await it.train(["a"], 20);
  async function beatAll(seconds: number) {
    for (let second = 0; second < seconds; second += 5) {
      for (const at of [0, 1]) it.beat("a", `p${at}`, [[at, 19, second, "train.py:1"]]);
      it.beat("a", "p2", [[2, 18, second, "data.py:1"]]);
      await it.clock.advance(5000);
    }
  }
  const note = () => /; not restarted: (.*)$/.exec(stallOf(it.object("a"))?.message ?? "")?.[1];
  await beatAll(60);
  assert.equal(note(), "it has reported no checkpoint");
  const before = it.writes.length;
  await beatAll(120);
  assert.equal(it.writes.length, before);
  // More often than pods may be named.
  for (let round = 0; round < 10; round++) {
    await it.clock.advance(70_000);
    assert.equal(note(), "none of its pods is heard");
    await beatAll(70);
    assert.equal(note(), "it has reported no checkpoint");
  }
  const flapping = it.writes.length;
  for (let round = 0; round < 30; round++) {
    await it.clock.advance(30_000);
    await beatAll(10);
  }
  // In 20 minutes, beside the time spent and the names of pods; the note changed 60 times.
  const wrote = it.writes.length - flapping;
  assert.ok(wrote <= 20 + 8, `a note a minute at most: ${wrote} writes`);
  await it.set("a", SAVED);
  await beatAll(70);
  assert.equal(note(), "maxRestarts is 0");
  await it.end();
});

/** Of a storm: jobs that hang until they are told, and still are not acted on. */
async function storm(it: ReturnType<typeof scene>, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, at) => `job-${at}`);
  for (const name of names) await it.add(name, SAVED);
  await it.train(names, 20);
  await beats(it, names, 2000);
  assert.equal(it.stalled(), count);
  return names;
}

const restarts = (it: ReturnType<typeof scene>, names: readonly string[]) =>
  names.filter((name) => restartOf(it.object(name)) !== undefined);

Deno.test("the next owner knows a storm of stalls by what the jobs say", async () => {
  const it = scene({ policy: RESTART });
  const names = await storm(it, 6);
  await it.succeed();
  await beats(it, names, 2000);
  assert.equal(it.stalled(), 6);
  assert.deepEqual(restarts(it, names), []);
  await it.end();
});

Deno.test("a stall that the next owner finds names its pods anew", async () => {
  const it = scene();
  await it.add("a", SAVED);
  await it.train(["a"], 20);
  await it.clock.advance(30_000);
  const { since, time, pods } = stallOf(it.object("a")) ?? {};
  assert.equal(pods, undefined);
  await it.succeed();
  for (let second = 0; second < 60; second += 5) {
    for (const at of [0, 1]) it.beat("a", `p${at}`, [[at, 19, second, "train.py:1"]]);
    it.beat("a", "p2", [[2, 18, second, "data.py:1"]]);
    await it.clock.advance(5000);
  }
  const now = stallOf(it.object("a"));
  assert.deepEqual([now?.since, now?.time], [since, time]);
  assert.deepEqual(now?.pods?.map(({ name }) => name), ["a-node-0-p2"]);
  await it.end();
});

Deno.test("the pods that an owner has named stay named to the next one, which does not hear them", async () => {
  const it = scene({ policy: { ...RESTART, afterMs: 60_000 } });
  await it.add("a");
  await it.train(["a"], 20);
  for (let second = 0; second < 90; second += 5) {
    it.beat("a", "p0", [[0, 19, second, "train.py:1"]]);
    if (second === 0) it.beat("a", "p1", [[1, 19, second, "train.py:1"]]);
    await it.clock.advance(5000);
  }
  const named = () => stallOf(it.object("a"))?.pods?.map(({ name }) => name);
  assert.deepEqual(named(), ["a-node-0-p1"]);
  await it.succeed();
  await it.clock.advance(30_000);
  assert.deepEqual(named(), ["a-node-0-p1"]);
  for (let second = 0; second < 90; second += 5) {
    it.beat("a", "p0", [[0, 19, 120 + second, "train.py:1"]]);
    await it.clock.advance(5000);
  }
  assert.deepEqual(named(), ["a-node-0-p1"]);
  await it.end();
});

Deno.test("when most jobs of a storm make steps, the others wait their whole limit again", async () => {
  const it = scene({ policy: { action: "Stop" } });
  const names = await storm(it, 12);
  const ended = () => names.filter((name) => endOf(TRAINJOB, it.object(name)) === "Failed");
  let step = 20;
  async function goOn(back: number, seconds: number) {
    for (let second = 0; second < seconds; second += 5) {
      for (const name of names.slice(0, back)) it.push(name, { step, phase: "Training" });
      for (const name of names.slice(back)) it.beat(name, "p1", [[0, 19, step, "train.py:1"]]);
      step += 5;
      await it.clock.advance(5000);
    }
  }
  await goOn(8, 300);
  assert.deepEqual(ended(), []);
  await goOn(11, 330);
  assert.deepEqual(ended(), ["job-11"], "that hangs by itself");
  const { message } = it.object("job-11").status?.conditions?.[0] ?? {};
  assert.match(message ?? "", /^no step after 19 since 2026-01-01T00:00:19Z/);
  await it.end();
});

for (const when of ["before", "after"] as const) {
  for (const at of [1, 2, 3, 5, 7]) {
    Deno.test(`an owner that is killed ${when} write ${at} exceeds no budget`, async () => {
      const { restarts, spent, counted, wasKilled } = await killedAt(when, at);
      assert.equal(wasKilled, true);
      assert.deepEqual([restarts, spent, counted], [ALLOWED, ALLOWED, ALLOWED]);
    });
  }
}
