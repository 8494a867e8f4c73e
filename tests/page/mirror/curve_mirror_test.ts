/** Tests of the mirror of curves: one stream for any number of viewers, and what it says when there is none. */
import assert from "node:assert/strict";
import type { JobRef } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { CurveAnswer } from "../../../crds/wire/shown_curves.ts";
import type { HeldCurves } from "../../../owner/curves/held_curves.ts";
import type { Known } from "../../../owner/followed_group.ts";
import { createCurveMirror } from "../../../page/mirror/curve_mirror.ts";
import { MIRROR_LIMITS } from "../../../page/mirror/mirror_limits.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { curvesOf, FakeManager } from "./fake_manager.ts";

const job = (name: string, namespace = "default"): JobRef => ({
  kind: TRAINJOB,
  namespace,
  name,
  uid: `uid-${name}`,
});
const AT = 1_767_225_600_000;
const never = new AbortController().signal;

function start(options: Partial<Parameters<typeof createCurveMirror>[0]> = {}) {
  const clock = new FakeClock();
  const manager = new FakeManager(clock);
  const mirror = createCurveMirror({
    manager: () => manager.client,
    clock,
    random: () => 0.5,
    ...options,
  });
  /** Asks for the jobs; with an answer before, for what a viewer who has that is told now. */
  const ask = async (
    jobs: readonly JobRef[],
    before?: CurveAnswer,
    more: object = {},
    user?: string,
  ): Promise<CurveAnswer> => {
    const asked = { jobs: jobs.map(({ uid }) => uid), points: 128, ...more };
    const answer = await mirror.ask(asked, never, jobs, user);
    if (before === undefined) return answer;
    const known: Known<HeldCurves>[] = [];
    jobs.forEach((it) => mirror.follow(it, (now) => known.push(now), user)());
    const outage = known.map((it) => it.outage).find((it) => it !== undefined);
    if (outage !== undefined) return { retryAfterMs: 1_000, ...outage };
    const had = new Set("curves" in before ? before.curves : []);
    return "curves" in answer
      ? { ...answer, curves: answer.curves.filter((it) => !had.has(it)) }
      : answer;
  };
  return {
    clock,
    manager,
    mirror,
    ask,
    async [Symbol.asyncDispose]() {
      await mirror.close();
      assert.equal(clock.sleeping, 0, "the mirror has left timers");
    },
  };
}

const lastOf = (answer: CurveAnswer) =>
  "curves" in answer
    ? Object.fromEntries(answer.curves.map((it) => [it.uid, it.metrics[0]?.points.at(-1)?.[3]]))
    : answer;

Deno.test("a thousand viewers of one job cost one stream, and each is told once of news", async () => {
  await using it = start();
  const { clock, manager, mirror, ask } = it;
  const a = job("a");
  let rings = 0;
  const stops = Array.from({ length: 1000 }, () => mirror.follow(a, () => rings++));
  await clock.advance(200);
  assert.equal(manager.streams.length, 1);
  const [stream] = manager.streams;
  assert.deepEqual(stream?.query.getAll("job"), [`${TRAINJOB.id}/default/a`]);
  assert.equal(stream?.query.get("points"), "128");
  const first = Promise.all(Array.from({ length: 1000 }, () => ask([a])));
  stream?.event("curves", { curves: [curvesOf("a", [[AT, 1, 3, 2]])] });
  await clock.advance(0);
  const answers = await first;
  assert.equal(rings, 1000);
  const [answer] = answers;
  assert.ok(answer !== undefined && "curves" in answer);
  assert.deepEqual(answer.curves[0]?.metrics, [{ name: "loss", points: [[AT, 1, 3, 2]] }]);
  assert.deepEqual(answer.curves[0]?.marks, [{ timeMs: AT, kind: "pod", text: "a-pod" }]);
  assert.deepEqual(await ask([a], answer), { curves: [], left: [] }, "nothing is new");

  stream?.event("curves", { curves: [curvesOf("a", [[AT, 1, 3, 2]])] });
  await clock.advance(0);
  assert.equal(rings, 1000, "the same again is no news");
  stream?.event("curves", { curves: [curvesOf("a", [[AT, 1, 3, 2.5]])] });
  await clock.advance(0);
  assert.equal(rings, 2000);
  assert.deepEqual(lastOf(await ask([a], answer)), { "uid-a": 2.5 });
  assert.equal(manager.streams.length, 1);
  stops.forEach((stop) => stop());
});

Deno.test("a job is followed for a while after its last viewer, then the stream ends", async () => {
  await using it = start();
  const { clock, manager, mirror } = it;
  const stop = mirror.follow(job("a"), () => {});
  await clock.advance(1_000);
  manager.streams[0]?.event("curves", { curves: [curvesOf("a", [[AT, 1, 1, 1]])] });
  stop();
  await clock.advance(MIRROR_LIMITS.lingerMs - 5_000);
  assert.equal(manager.open.length, 1);
  assert.equal(manager.streams.length, 1);
  await clock.advance(11_000);
  assert.equal(manager.open.length, 0);
  assert.equal(clock.sleeping, 0, "nothing runs while nobody looks");
});

Deno.test("a job whose last viewer leaves while an answer waits for its curves is not followed for ever", async () => {
  await using it = start();
  const { clock, manager, mirror, ask } = it;
  const stop = mirror.follow(job("a"), () => {});
  await clock.advance(200);
  const answer = ask([job("a")]);
  await clock.advance(0);
  stop();
  await clock.advance(MIRROR_LIMITS.waitMs);
  await answer;
  await clock.advance(MIRROR_LIMITS.lingerMs + 5_000);
  assert.equal(manager.open.length, 0);
});

Deno.test("a job costs the same work to follow however many others are followed", async () => {
  await using it = start();
  const { clock, manager, mirror } = it;
  let reads = 0;
  const counted = (n: number): JobRef => ({
    ...job(`j${n}`),
    get name() {
      reads++;
      return `j${n}`;
    },
  });
  for (let n = 0; n < 2_300; n++) mirror.follow(counted(n), () => {}, `user-${n % 50}`);
  await clock.advance(200);
  assert.equal(manager.open.length, MIRROR_LIMITS.streams);
  assert.ok(reads < 2_300 * 2 * MIRROR_LIMITS.streams, `${reads} reads of names`);
});

Deno.test("jobs that come together open the stream once more, and not more than every 1.5 s", async () => {
  await using it = start();
  const { clock, manager, mirror } = it;
  mirror.follow(job("a"), () => {});
  await clock.advance(500);
  for (const name of ["b", "c"]) mirror.follow(job(name), () => {});
  await clock.advance(500);
  assert.deepEqual(manager.open.map(({ jobs }) => jobs), [["a"]]);
  await clock.advance(700);
  assert.deepEqual(manager.open.map(({ jobs }) => jobs), [["a", "b", "c"]]);
  assert.equal(manager.streams.length, 2);
});

Deno.test("a stream has at most a hundred jobs, of 20 namespaces, and there are at most 16", async () => {
  await using it = start();
  const { clock, manager, mirror, ask } = it;
  for (let n = 0; n < 250; n++) mirror.follow(job(`j${n}`), () => {});
  await clock.advance(200);
  assert.deepEqual(manager.open.map(({ jobs }) => jobs.length), [100, 100, 50]);
  for (let n = 0; n < 1500; n++) mirror.follow(job(`k${n}`), () => {}, `user-${n % 50}`);
  await clock.advance(3_000);
  assert.equal(manager.open.length, MIRROR_LIMITS.streams);
  const answer = await ask([job("k1499")]);
  assert.match("reason" in answer ? answer.reason : "", /up to 1600 jobs/);
});

Deno.test("jobs of many namespaces, or with long names, go to several streams", async () => {
  await using it = start();
  const { clock, manager, mirror } = it;
  for (let n = 0; n < 21; n++) mirror.follow(job(`j${n}`, `n${n}`), () => {});
  await clock.advance(200);
  assert.deepEqual(manager.open.map(({ jobs }) => jobs.length), [20, 1]);
  for (let n = 0; n < 100; n++) {
    mirror.follow(job(`${"x".repeat(60)}${n}`, "y".repeat(63)), () => {});
  }
  await clock.advance(3_000);
  const paths = manager.open.map(({ query }) => query.toString().replaceAll("%2F", "/").length);
  assert.ok(Math.max(...paths) <= 12_000, String(paths));
});

const status = (code: number, message: string, headers: Record<string, string> = {}) => () =>
  Response.json({ kind: "Status", code, reason: "Some", message }, { status: code, headers });

const refusals: Record<string, { refusal: () => Response; want: RegExp }> = {
  "a token that is not accepted": {
    refusal: status(401, "the API server does not accept the bearer token"),
    want: /does not accept the token.*the bearer token/,
  },
  "a right that is missing": {
    refusal: status(403, "ui may not list trainjobs"),
    want: /the right to read curves is missing at the manager: ui may not list trainjobs/,
  },
  "a manager that is older": { refusal: status(404, "no such path"), want: /older than this page/ },
  "a manager that is not ready": {
    refusal: status(503, "no replica leads", { "Retry-After": "3" }),
    want: /cannot give curves now: no replica leads/,
  },
  "a manager that is not there": {
    refusal: () => {
      throw new Error("connection refused");
    },
    want: /cannot be reached: connection refused/,
  },
};
for (const [what, { refusal, want }] of Object.entries(refusals)) {
  Deno.test(`${what} is said, and it comes back by itself`, async () => {
    await using it = start();
    const { clock, manager, mirror, ask } = it;
    manager.refusal = refusal;
    let rings = 0;
    mirror.follow(job("a"), () => rings++);
    await clock.advance(200);
    const answer = await ask([job("a")]);
    assert.match("reason" in answer ? answer.reason : "", want);
    assert.ok(rings > 0, "viewers are told of it");
    manager.refusal = undefined;
    await clock.advance(20_000);
    assert.equal(manager.open.length, 1);
    manager.open[0]?.event("curves", { curves: [curvesOf("a", [[AT, 1, 1, 1]])] });
    await clock.advance(0);
    assert.deepEqual(lastOf(await ask([job("a")])), { "uid-a": 1 });
  });
}

Deno.test("without a manager the answer says what is missing, and it is tried less and less often", async () => {
  let tries = 0;
  await using it = start({
    manager: () => void tries++,
    missing: () => "no Service milepost is there",
  });
  const { clock, mirror, ask } = it;
  mirror.follow(job("a"), () => {});
  await clock.advance(200);
  const answer = await ask([job("a")]);
  assert.match("reason" in answer ? answer.reason : "", /no Service milepost is there/);
  await clock.advance(120_000);
  const before = tries;
  await clock.advance(120_000);
  assert.ok(tries - before >= 6 && tries - before <= 16, `${tries - before} tries in two minutes`);
});

Deno.test("a stream that breaks after a while is opened again before anybody is told", async () => {
  await using it = start();
  const { clock, manager, mirror, ask } = it;
  mirror.follow(job("a"), () => {});
  await clock.advance(200);
  const curves = [curvesOf("a", [[AT, 1, 1, 1]])];
  manager.streams[0]?.event("curves", { curves });
  await clock.advance(15_000);
  manager.streams[0]?.send(": still there\n\n");
  const first = await ask([job("a")]);
  await clock.advance(0);
  manager.streams[0]?.break();
  await clock.advance(100);
  assert.deepEqual(await ask([job("a")], first), { curves: [], left: [] });
  await clock.advance(1_000);
  assert.equal(manager.open.length, 1);
  manager.streams[1]?.event("curves", { curves });
  await clock.advance(0);
  assert.deepEqual(await ask([job("a")], first), { curves: [], left: [] }, "it is the same");
});

Deno.test("during an outage what is held is shown, then the outage is said; after it the curves come again", async () => {
  await using it = start();
  const { clock, manager, mirror, ask } = it;
  let rings = 0;
  mirror.follow(job("a"), () => rings++);
  await clock.advance(200);
  const curves = [curvesOf("a", [[AT, 1, 1, 1]])];
  manager.streams[0]?.event("curves", { curves });
  await clock.advance(0);
  manager.streams[0]?.break();
  await clock.advance(0);
  assert.equal(rings, 2, "the viewer is told of the curves, and of the outage");
  const held = await ask([job("a")]);
  assert.deepEqual(lastOf(held), { "uid-a": 1 });
  const answer = await ask([job("a")], held);
  assert.match(
    "reason" in answer ? answer.reason : "",
    /broke off: the response ended early: connection reset/,
  );
  await clock.advance(1_000);
  manager.streams[1]?.event("curves", { curves });
  await clock.advance(0);
  assert.deepEqual(await ask([job("a")], held), { curves: [], left: [] });
  assert.equal(rings, 3, "the viewer is told that the outage is over");
});

Deno.test("a stream without a word is dead after 40 s; comments keep it", async () => {
  await using it = start();
  const { clock, manager, mirror } = it;
  mirror.follow(job("a"), () => {});
  await clock.advance(200);
  manager.streams[0]?.event("curves", { curves: [curvesOf("a", [[AT, 1, 1, 1]])] });
  for (let n = 0; n < 4; n++) {
    await clock.advance(15_000);
    manager.streams[0]?.send(": still there\n\n");
  }
  assert.equal(manager.streams.length, 1);
  await clock.advance(42_000);
  assert.ok(manager.streams[0]?.isCut());
  assert.equal(manager.streams.length, 2);
});

Deno.test("an outage of which the manager speaks is passed on, and asked about again", async () => {
  await using it = start();
  const { clock, manager, mirror, ask } = it;
  mirror.follow(job("a"), () => {});
  await clock.advance(200);
  manager.streams[0]?.event("outage", { reason: "no replica leads" });
  await clock.advance(0);
  const answer = await ask([job("a")]);
  assert.equal("reason" in answer && answer.reason, "no replica leads");
  await clock.advance(10_000);
  assert.ok(manager.streams.length > 1);
});

for (
  const data of [
    "{",
    "{}",
    '{"curves":[{"job":{"uid":"uid-a"},"metrics":[{"name":"x","points":[["a"]]}],"marks":[]}]}',
  ]
) {
  Deno.test(`curves that cannot be read are an outage: ${data.slice(0, 20)}`, async () => {
    await using it = start();
    const { clock, manager, mirror, ask } = it;
    mirror.follow(job("a"), () => {});
    await clock.advance(200);
    manager.streams[0]?.send(`event: curves\ndata: ${data}\n\n`);
    await clock.advance(0);
    const answer = await ask([job("a")]);
    assert.match("reason" in answer ? answer.reason : "", /cannot be read/);
  });
}

Deno.test("a job that the manager does not know has no curves, and is asked for again", async () => {
  await using it = start();
  const { clock, manager, mirror, ask } = it;
  mirror.follow(job("new"), () => {});
  await clock.advance(200);
  const asked = ask([job("new")]);
  await clock.advance(2_100);
  const answer = await asked;
  assert.deepEqual("curves" in answer && answer.curves.map(({ metrics }) => metrics), [[]]);
  await clock.advance(6_000);
  assert.equal(manager.streams.length, 2);
  manager.streams[1]?.event("curves", { curves: [curvesOf("new", [[AT, 1, 1, 1]])] });
  await clock.advance(0);
  assert.deepEqual(lastOf(await ask([job("new")], answer)), { "uid-new": 1 });
});

Deno.test("a manager that worked and then answers nobody any more is said to be out of reach", async () => {
  await using it = start();
  const { clock, manager, mirror, ask } = it;
  mirror.follow(job("a"), () => {});
  await clock.advance(200);
  manager.streams[0]?.event("curves", { curves: [curvesOf("a", [[AT, 1, 3, 2]])] });
  await clock.advance(20_000);
  const first = await ask([job("a")]);
  manager.answersNobody = true;
  manager.streams[0]?.break();
  await clock.advance(3 * 60_000);
  const answer = await ask([job("a")], first);
  assert.match(
    "reason" in answer ? answer.reason : "",
    /cannot be reached: GET \/view\/v1\/events: no response within/,
  );
});

Deno.test("answers about time ranges are kept no longer than they are read", async () => {
  await using it = start();
  const { clock, manager, mirror, ask } = it;
  mirror.follow(job("a"), () => {});
  await clock.advance(200);
  const curves = [curvesOf("a", [[AT, 1, 1, 1]])];
  manager.streams[0]?.event("curves", { curves });
  await clock.advance(0);
  for (let count = 1; count <= 2; count++) {
    const answer = ask([job("a")], undefined, { fromMs: AT - 1_000, toMs: AT + 1_000 });
    await clock.advance(0);
    assert.equal(manager.reads.length, count);
    manager.reads.at(-1)?.answer(Response.json({ curves }));
    assert.ok("curves" in await answer);
  }
});

Deno.test("a time range is read at the manager once for all viewers, four reads at a time, two of a user", async () => {
  await using it = start();
  const { clock, manager, mirror, ask } = it;
  const jobs = Array.from({ length: 9 }, (_, n) => job(`j${n}`));
  jobs.forEach((it) => mirror.follow(it, () => {}));
  await clock.advance(200);
  const curves = jobs.map(({ name }) => curvesOf(name, [[AT, 1, 1, 1]]));
  manager.streams[0]?.event("curves", { curves });
  await clock.advance(0);
  const range = { fromMs: AT - 1_000, toMs: AT + 1_000, metrics: ["loss"] };
  const asTwo = (it: JobRef, user: string) => [1, 2].map(() => ask([it], undefined, range, user));
  const ofAda = jobs.slice(0, 5).flatMap((it) => asTwo(it, "ada"));
  await clock.advance(0);
  assert.equal(manager.reads.length, 2);
  const others = jobs.slice(5).flatMap((it, place) => asTwo(it, ["bob", "cyd"][place % 2] ?? ""));
  const answers = [...ofAda, ...others];
  await clock.advance(0);
  assert.equal(manager.reads.length, 4);
  for (let n = 0; n < jobs.length; n++) {
    const { path, answer } = manager.reads[n] ?? assert.fail("no read");
    const query = new URLSearchParams(path.slice(path.indexOf("?")));
    assert.equal(query.get("from"), new Date(AT - 1_000).toISOString());
    assert.deepEqual(query.getAll("metric"), ["loss"]);
    const name = query.get("job")?.split("/").at(-1) ?? "";
    answer(Response.json({ curves: [curvesOf(name, [[AT, 5, 5, 5]])] }));
    await clock.advance(0);
  }
  assert.equal(manager.reads.length, jobs.length);
  for (const answer of await Promise.all(answers)) {
    assert.deepEqual(Object.values(lastOf(answer)), [5]);
  }
});

Deno.test("curves take no more memory than they may: those that nobody looks at give way", async () => {
  await using it = start({ maxBytes: 12_500 });
  const { clock, manager, mirror, ask } = it;
  const points = Array.from({ length: 128 }, (_, n) => [AT + n * 1000, 1, 1, 1]);
  const stop = mirror.follow(job("a"), () => {});
  mirror.follow(job("b"), () => {});
  await clock.advance(200);
  manager.streams[0]?.event("curves", { curves: [curvesOf("a", points), curvesOf("b", points)] });
  await clock.advance(0);
  assert.deepEqual(lastOf(await ask([job("a"), job("b")])), { "uid-a": 1, "uid-b": 1 });
  mirror.follow(job("c"), () => {});
  await clock.advance(2_000);
  const c = () => manager.open[0]?.event("curves", { curves: [curvesOf("c", points)] });
  c();
  await clock.advance(0);
  const answer = await ask([job("c")]);
  const later = await ask([job("c")], answer);
  assert.match("reason" in later ? later.reason : "", /more memory/);
  stop();
  c();
  await clock.advance(0);
  assert.deepEqual(lastOf(await ask([job("c")], answer)), { "uid-c": 1 });
});

Deno.test("a job that gives way to another one of the same event takes no memory any more", async () => {
  // Room for all of a, and not for b beside it.
  await using it = start({ maxBytes: 11_500 });
  const { clock, manager, mirror } = it;
  const curves = (name: string, metrics: readonly string[], count: number, value = 1) => ({
    ...curvesOf(name, []),
    metrics: metrics.map((name) => ({
      name,
      points: Array.from({ length: count }, (_, n) => [AT + n * 1000, 1, 1, value]),
    })),
  });
  const heard: string[] = [];
  mirror.follow(job("a"), ({ value, outage }) => {
    heard.push(outage?.reason ?? String(value?.metrics.length));
  });
  const stop = mirror.follow(job("b"), () => {});
  await clock.advance(200);
  const send = async (...all: object[]) => {
    manager.streams[0]?.event("curves", { curves: all });
    await clock.advance(0);
  };
  await send(curves("a", ["loss"], 1), curves("b", ["loss"], 1));
  stop();
  await send(curves("a", ["loss", "rate"], 128), curves("b", ["loss"], 2));
  await send(curves("a", ["loss", "rates"], 128));
  assert.deepEqual(heard, ["1", "2", "2"]);
});

Deno.test("curves that found no room are asked for again when there is room, and only then", async () => {
  await using it = start({ maxBytes: 12_500 });
  const { clock, manager, mirror, ask } = it;
  const points = Array.from({ length: 128 }, (_, n) => [AT + n * 1000, 1, 1, 1]);
  const curves = ["a", "b", "c"].map((name) => curvesOf(name, points));
  const [stop] = ["a", "b", "c"].map((name) => mirror.follow(job(name), () => rings++));
  let rings = 0;
  await clock.advance(200);
  manager.open[0]?.event("curves", { curves });
  await clock.advance(20_000);
  const answer = await ask([job("c")]);
  const full = await ask([job("c")], answer);
  assert.match("reason" in full ? full.reason : "", /more memory/);
  assert.equal(manager.streams.length, 1, "there is no room yet");
  stop?.();
  await clock.advance(5_500);
  assert.equal(manager.streams.length, 2, "it is asked once");
  rings = 0;
  manager.open[0]?.event("curves", { curves: curves.slice(1) });
  await clock.advance(0);
  assert.equal(rings, 1, "c is told, and b has no news");
  assert.deepEqual(lastOf(await ask([job("c")], answer)), { "uid-c": 1 });
  await clock.advance(20_000);
  assert.equal(manager.streams.length, 2);
});

Deno.test("beyond the jobs that may wait for a place the answer says so", async () => {
  await using it = start();
  const { mirror, ask } = it;
  const most = MIRROR_LIMITS.streams * 100 + MIRROR_LIMITS.waiting;
  for (let n = 0; n < most; n++) mirror.follow(job(`j${n}`), () => {});
  const answer = await ask([job("one-more")]);
  assert.match("reason" in answer ? answer.reason : "", /up to 1600 jobs/);
});

Deno.test("a few users cannot take the places of others, however many jobs they look at", async () => {
  await using it = start();
  const { clock, manager, mirror, ask } = it;
  for (const user of ["eve", "eva", "evi"]) {
    for (let n = 0; n < 5_000; n++) mirror.follow(job(`${user}-${n}`), () => {}, user);
  }
  await clock.advance(200);
  const jobs = Array.from({ length: 50 }, (_, n) => job(`ada-${n}`));
  const stops = jobs.map((it) => mirror.follow(it, () => {}, "ada"));
  await clock.advance(10_000);
  const placed = new Set(manager.open.flatMap((stream) => stream.jobs));
  assert.deepEqual(jobs.filter(({ name }) => !placed.has(name)), []);
  const counts = ["eve", "eva", "evi"].map((user) =>
    [...placed].filter((name) => name.startsWith(user)).length
  );
  assert.deepEqual(counts, [800, 400, 200]);
  const more = await ask([job("eve-more")], undefined, {}, "eve");
  assert.match("reason" in more ? more.reason : "", /up to 1600 jobs/);
  for (const stop of stops) stop();
  await clock.advance(MIRROR_LIMITS.lingerMs + 5_000);
  const now = new Set(manager.open.flatMap((stream) => stream.jobs));
  assert.equal(now.size, 1_400, "what ada had is free again");
});

Deno.test("a mirror that is closed answers that, and ends its streams", async () => {
  const { clock, manager, mirror, ask } = start();
  mirror.follow(job("a"), () => {});
  await clock.advance(200);
  const waiting = ask([job("a")]);
  await mirror.close();
  assert.match(JSON.stringify(await waiting), /about to stop/);
  assert.equal(manager.open.length, 0);
  assert.equal(clock.sleeping, 0);
});
