/** Tests of streams of many jobs in memory: each row once, turns, jobs that come and go, outages and bounds. */
import assert from "node:assert/strict";
import { z } from "zod";
import { OBSERVATION_LIMITS } from "../../../crds/wire/observation.ts";
import { SinkError } from "../../../owner/observations/sink.ts";
import { failureSchema, jobGoneSchema, jobObservationSchema } from "../../../katib/api/messages.ts";
import { PAGES_PER_ASK } from "../../../owner/observations/observation_asks.ts";
import { settle } from "../../support/fake_clock.ts";
import { type Bench, jobsBench } from "./jobs_bench.ts";

const bodySchema = z.record(z.string(), z.unknown());

Deno.test("each job that matches is told once with its rows, then synced, then each new row once", async () => {
  const bench = jobsBench({ "a": "1", "b": "1", "c": "2" });
  bench.push("a", 1, "0.5");
  bench.push("c", 1, "9");
  const stream = await bench.open({ labelSelector: "sweep=1" });
  const first = stream.heard();
  assert.deepEqual(first.map(({ event }) => event), ["observation", "observation", "synced"]);
  const told = first.slice(0, 2).map(({ data }) => jobObservationSchema.parse(data));
  assert.deepEqual(told, [
    {
      job: { name: "a", uid: "uid-a" },
      state: "Running",
      log: [{
        time: "2026-01-01T00:00:01.000Z",
        name: "loss",
        value: "0.5",
        step: 1,
        podUid: "pod-a",
      }],
      continue: told[0]?.continue,
    },
    { job: { name: "b", uid: "uid-b" }, state: "Running", log: [] },
  ]);
  bench.push("b", 2, "0.25");
  bench.push("c", 2, "9");
  await settle();
  assert.deepEqual(stream.rows(), ["b 0.25"]);
  bench.push("a", 2, "0.4");
  bench.push("b", 3, "0.2");
  await settle();
  assert.deepEqual(stream.rows().sort(), ["a 0.4", "b 0.2"]);
  assert.deepEqual(bench.counted, ["observations accepted"]);
  await stream.stop();
  assert.equal(bench.slots.open(), 0);
  assert.equal(bench.listeners(), 0);
});

Deno.test("ids increase over all jobs", async () => {
  const bench = jobsBench({ a: "1", b: "1", c: "1" });
  const stream = await bench.open({ labelSelector: "sweep=1" });
  const ids = stream.heard().flatMap(({ id }) => id === undefined ? [] : [id]);
  assert.equal(ids.length, 3);
  assert.deepEqual(ids, [...new Set(ids)].sort((one, other) => one - other));
  await stream.stop();
});

Deno.test("no jobs at all are synced at once", async () => {
  const stream = await jobsBench({ a: "1" }).open({ labelSelector: "sweep=none" });
  assert.deepEqual(stream.heard().map(({ event, data }) => [event, data]), [["synced", {}]]);
  await stream.stop();
});

Deno.test("a stream goes on from the places that its reader has, and tells the others from their beginning", async () => {
  const bench = jobsBench({ a: "1", b: "1" });
  for (let second = 0; second < 3; second++) {
    bench.push("a", second);
    bench.push("b", second);
  }
  const first = await bench.open({ labelSelector: "sweep=1" });
  const from = Object.fromEntries(
    first.heard().filter(({ event }) => event === "observation").map(({ data }) => {
      const { job, continue: next } = jobObservationSchema.parse(data);
      return [job.uid, next];
    }),
  );
  await first.stop();
  bench.push("a", 3);
  const second = await bench.open({
    labelSelector: "sweep=1",
    from: { "uid-a": from["uid-a"], "uid-gone": "5.1" },
  });
  assert.deepEqual(second.rows(), ["a 3", "b 0", "b 1", "b 2"]);
  await second.stop();
});

Deno.test("state changes are told, and what leaves the state is not", async () => {
  const bench = jobsBench({ a: "1" });
  const stream = await bench.open({ labelSelector: "sweep=1" });
  stream.heard();
  bench.change("a", { annotations: { note: "x" } });
  await settle();
  assert.deepEqual(stream.heard(), []);
  bench.change("a", { status: { state: "Created" } });
  await settle();
  assert.partialDeepStrictEqual(stream.heard(), [{
    data: { state: "Running", reason: "Created" },
  }]);
  await stream.stop();
});

Deno.test("a state that has ended comes with all rows that were pushed before", async () => {
  const bench = jobsBench({ a: "1" });
  const stream = await bench.open({ labelSelector: "sweep=1" });
  stream.heard();
  // The row is there when the job ends, and the page was read before both.
  bench.whileReading(() => {
    bench.push("a", 2, "last");
    bench.change("a", { status: { conditions: [COMPLETE] } });
  });
  bench.push("a", 1, "first");
  await settle();
  let seen: string[] = [];
  for (const { event, data } of stream.heard()) {
    if (event !== "observation") continue;
    const { state, log, more } = jobObservationSchema.parse(data);
    seen = [...seen, ...log.map(({ value }) => value)];
    if (state === "Succeeded" && more !== true) assert.deepEqual(seen, ["first", "last"]);
  }
  assert.deepEqual(seen, ["first", "last"]);
  await stream.stop();
});

const COMPLETE = {
  type: "Complete",
  status: "True",
  reason: "AllJobsCompleted",
  message: "done",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

Deno.test("a log of several pages says that there is more, and the other jobs have their turns between", async () => {
  const bench = jobsBench({ a: "1", b: "1" });
  bench.change("a", { status: { conditions: [COMPLETE] } });
  const rows = 2 * OBSERVATION_LIMITS.page + 1;
  for (let second = 0; second < rows; second++) bench.push("a", second);
  bench.push("b", 1);
  const stream = await bench.open({ labelSelector: "sweep=1" });
  const heard = stream.heard();
  const names = heard.map(({ event, data }) =>
    event === "observation" ? jobObservationSchema.parse(data).job.name : event
  );
  assert.deepEqual(names, ["a", "b", "a", "a", "synced"]);
  const mores = heard.filter((_, index) => names[index] === "a")
    .map(({ data }) => jobObservationSchema.parse(data).more);
  assert.deepEqual(mores, [true, true, undefined]);
  await stream.stop();
});

Deno.test("logs of long rows take turns at the room of an answer, and none is left out", async () => {
  const names = ["a", "b", "c", "d"];
  const bench = jobsBench(Object.fromEntries(names.map((name) => [name, "1"])));
  for (const name of names) {
    for (let second = 0; second < 3; second++) bench.push(name, second, "x".repeat(900_000));
  }
  const stream = await bench.open({ labelSelector: "sweep=1" });
  assert.match(stream.texts.at(-1) ?? "", /^event: synced\n/);
  const rows = stream.rows().map((it) => it.slice(0, 1));
  assert.deepEqual([...rows].sort().join(""), "aaabbbcccddd");
  // Each has its first page before any has its last one.
  assert.deepEqual(new Set(rows.slice(0, 8)), new Set(names));
  await stream.stop();
});

Deno.test("jobs that come to match are added, and those that do no more, or are deleted, are told as gone", async () => {
  const bench = jobsBench({ a: "1", b: "1", c: "2" });
  bench.push("c", 1);
  const stream = await bench.open({ labelSelector: "sweep=1" });
  stream.heard();
  bench.label("c", "1");
  bench.create("d", "1");
  bench.create("e", "other");
  await settle();
  assert.deepEqual(stream.names(), ["observation c", "observation d"]);
  bench.label("a", "2");
  bench.remove("b");
  await settle();
  assert.deepEqual(stream.names(), ["gone a", "gone b"]);
  bench.push("a", 1);
  await settle();
  assert.deepEqual(stream.names(), []);
  bench.create("b", "1", "uid-b2");
  await settle();
  const [again] = stream.heard();
  assert.deepEqual(jobObservationSchema.parse(again?.data).job, { name: "b", uid: "uid-b2" });
  assert.equal(bench.followed(), 3);
  await stream.stop();
});

Deno.test("a job that went and came back is told from its beginning, also if `from` named it, and went once however often", async () => {
  const bench = jobsBench({ a: "1" });
  bench.push("a", 1);
  const first = await bench.open({ labelSelector: "sweep=1" });
  const { continue: next } = jobObservationSchema.parse(first.heard()[0]?.data);
  await first.stop();
  bench.push("a", 2);
  bench.hang();
  const stream = await bench.open({ labelSelector: "sweep=1", from: { "uid-a": next } });
  for (let times = 0; times < 20; times++) {
    bench.label("a", "2");
    bench.label("a", "1");
  }
  bench.away(false);
  for (let tries = 0; tries < 3; tries++) await bench.clock.advance(10_000);
  const heard = stream.heard();
  assert.deepEqual(heard.filter(({ event }) => event !== "observation").map(({ event }) => event), [
    "gone",
    "synced",
  ]);
  const logs = heard.filter(({ event }) => event === "observation")
    .map(({ data }) => jobObservationSchema.parse(data).log.map(({ value }) => value));
  assert.deepEqual(logs, [["1", "2"]]);
  await stream.stop();
});

Deno.test("a job of which the reader knows nothing yet is not told as gone; one that it named in `from` is", async () => {
  const bench = jobsBench({ a: "1", b: "1" });
  bench.away(true);
  const stream = await bench.open({ labelSelector: "sweep=1", from: { "uid-b": "0.0" } });
  assert.deepEqual(stream.heard(), []);
  bench.remove("a");
  bench.remove("b");
  await settle();
  assert.deepEqual(stream.names(), ["gone b", "synced"]);
  await stream.stop();
});

/** The problem that an event tells. */
const problemOf = ({ data }: { readonly data: unknown }) =>
  jobObservationSchema.parse(data).problem;
const DOWN = "the observation log is out of reach: down";

Deno.test("a log that is out of reach is told once, read again, delays no other, and is told without the problem when it is back", async () => {
  const bench = jobsBench({ a: "1", b: "1" });
  bench.fault(new SinkError("unavailable", "down"), "uid-a");
  bench.change("a", { status: { conditions: [COMPLETE] } });
  bench.push("b", 1);
  const stream = await bench.open({ labelSelector: "sweep=1" });
  const [first, ...others] = stream.heard();
  assert.deepEqual(first?.data, {
    job: { name: "a", uid: "uid-a" },
    state: "Succeeded",
    reason: COMPLETE.reason,
    message: COMPLETE.message,
    log: [],
    more: true,
    problem: DOWN,
  });
  assert.deepEqual(others.map(({ event }) => event), ["observation", "synced"]);
  for (let tries = 0; tries < 3; tries++) await bench.clock.advance(2000);
  assert.deepEqual(stream.names(), []);
  bench.fault(undefined, "uid-a");
  for (let tries = 0; tries < 3; tries++) await bench.clock.advance(2000);
  const [back, ...more] = stream.heard();
  assert.partialDeepStrictEqual(back, { data: { job: { name: "a" }, log: [] } });
  assert.deepEqual([back && problemOf(back), more], [undefined, []]);
  bench.push("a", 1);
  await settle();
  assert.deepEqual(stream.rows(), ["a 1"]);
  await stream.stop();
});

Deno.test("a log that goes out of reach later is told, and the job that is gone then, too", async () => {
  const bench = jobsBench({ a: "1", b: "1" });
  const stream = await bench.open({ labelSelector: "sweep=1" });
  stream.heard();
  bench.fault(new SinkError("unavailable", "down"), "uid-a");
  bench.push("a", 1);
  await settle();
  assert.deepEqual(stream.heard().map(problemOf), [DOWN]);
  bench.create("c", "1");
  bench.fault(new SinkError("unavailable", "down"), "uid-c");
  await settle();
  assert.deepEqual(stream.heard().map(problemOf), [DOWN]);
  bench.remove("c");
  await settle();
  assert.deepEqual(stream.names(), ["gone c"]);
  await stream.stop();
});

Deno.test("without an answer of the owner fewer are asked about, then as many as before, and no row is lost", async () => {
  const names = Array.from({ length: 2 * PAGES_PER_ASK }, (_, index) => `job-${index}`);
  const bench = jobsBench(Object.fromEntries(names.map((name) => [name, "1"])));
  names.forEach((name) => bench.push(name, 1));
  bench.away(true);
  const stream = await bench.open({ labelSelector: "sweep=1" });
  for (let tries = 0; tries < 8; tries++) await bench.clock.advance(5000);
  // Alone, a job is told why it is not read.
  const why = new Set(stream.heard().map(problemOf));
  assert.deepEqual([...why], ["no replica owns the logs"]);
  const asked = bench.asked.splice(0);
  assert.equal(asked[0], PAGES_PER_ASK);
  assert.equal(asked.at(-1), 1);
  bench.away(false);
  for (let tries = 0; tries < 4; tries++) await bench.clock.advance(5000);
  await settle();
  assert.deepEqual(stream.rows().sort(), names.map((name) => `${name} 1`).sort());
  names.forEach((name) => bench.push(name, 2));
  await settle();
  assert.equal(stream.rows().length, names.length);
  assert.ok(Math.max(...bench.asked) === PAGES_PER_ASK, String(bench.asked));
  await stream.stop();
});

Deno.test("a thousand jobs with news are few questions; one more is refused with the number, or ends the stream", async () => {
  const most = OBSERVATION_LIMITS.streamJobs;
  const bench = jobsBench(
    Object.fromEntries(Array.from({ length: most }, (_, index) => [`job-${index}`, "1"])),
  );
  const stream = await bench.open({ labelSelector: "sweep=1" });
  await stream.until("synced");
  stream.heard();
  bench.asked.splice(0);
  for (let index = 0; index < most; index++) bench.push(`job-${index}`, 1);
  for (let turns = 0; turns < 50 && stream.texts.length < most; turns++) await settle();
  assert.equal(new Set(stream.rows()).size, most);
  assert.ok(bench.asked.length <= Math.ceil(most / PAGES_PER_ASK) + 1, String(bench.asked.length));
  bench.create("one-more", "1");
  await settle();
  assert.partialDeepStrictEqual(stream.heard().at(-1), {
    event: "end",
    data: { reason: "more than 1000 jobs match by now: narrow labelSelector" },
  });
  assert.ok(stream.done.is);
  const { status, body } = await bench.send({ labelSelector: "sweep=1" });
  assert.equal(status, 422);
  assert.match(body, /matches 1001 jobs: narrow it to 1000 at most/);
});

Deno.test("a reader that takes nothing is ended, and what it holds meanwhile is one answer", async () => {
  const bench = jobsBench({ a: "1", b: "1" });
  const stream = await bench.open({ labelSelector: "sweep=1" });
  stream.heard();
  stream.stall();
  for (let second = 0; second < 100; second++) {
    bench.push("a", second);
    bench.push("b", second);
    await settle(1);
  }
  const asked = bench.asked.length;
  await bench.clock.advance(1000);
  assert.equal(bench.asked.length, asked, "nothing is read while the reader takes nothing");
  await bench.clock.advance(30_000);
  assert.ok(stream.done.is);
  assert.equal(bench.slots.open(), 0);
  assert.equal(bench.followed(), 0);
});

Deno.test("a user who asks too much gets the rows later, together, and each once", async () => {
  const bench = jobsBench({ a: "1" }, 1);
  const stream = await bench.open({ labelSelector: "sweep=1" });
  assert.deepEqual(stream.names(), ["observation a", "synced"]);
  for (let second = 0; second < 20; second++) {
    bench.push("a", second);
    await settle(1);
  }
  assert.deepEqual(stream.rows(), []);
  assert.equal(bench.asked.length, 1);
  await bench.clock.advance(10);
  await settle();
  assert.deepEqual(stream.rows(), Array.from({ length: 20 }, (_, second) => `a ${second}`));
  await bench.clock.advance(100);
  assert.ok(bench.asked.length <= 3, String(bench.asked.length));
  await stream.stop();
});

Deno.test("a stream ends aloud with its token, and with either right of its reader", async (t) => {
  const ends: Readonly<Record<string, [(bench: Bench) => void, RegExp]>> = {
    "the token is refused": [({ server }) => server.accepts = false, /does not accept the bearer/],
    "the right to list": [({ server }) => server.denies = /"verb":"list"/, /may not list/],
    "the right to watch": [({ server }) => server.denies = /"verb":"watch"/, /may not watch/],
  };
  for (const [what, [set, why]] of Object.entries(ends)) {
    await t.step(what, async () => {
      const bench = jobsBench({ a: "1" });
      const stream = await bench.open({ labelSelector: "sweep=1" });
      stream.heard();
      set(bench);
      await bench.clock.advance(60_000);
      await settle();
      const last = stream.heard().at(-1);
      assert.equal(last?.event, "end");
      assert.match(String(bodySchema.parse(last?.data).reason), why);
      assert.ok(stream.done.is);
    });
  }
});

const long = Object.fromEntries(
  Array.from({ length: 1001 }, (_, index) => [`uid-${index}`, "1.1"]),
);
const refused: Readonly<
  Record<string, { body: unknown; code?: number; field?: string; message: RegExp }>
> = {
  "what is not JSON": { body: "{", message: /must be a JSON object with labelSelector/ },
  "a list": { body: [], message: /must be a JSON object with labelSelector/ },
  "no selector": { body: {}, field: "labelSelector", message: /must be key=value/ },
  "an empty selector": {
    body: { labelSelector: "" },
    field: "labelSelector",
    message: /must be key=/,
  },
  "a selector that is no text": {
    body: { labelSelector: { sweep: "1" } },
    field: "labelSelector",
    message: /must be key=value/,
  },
  "a selector of another form": {
    body: { labelSelector: "sweep in (1, 2)" },
    field: "labelSelector",
    message: /must be key=value/,
  },
  "an inequality": {
    body: { labelSelector: "sweep!=1" },
    field: "labelSelector",
    message: /must consist of alphanumeric/,
  },
  "a value that no label has": {
    body: { labelSelector: "sweep=a b" },
    field: "labelSelector",
    message: /a valid label must be/,
  },
  "a key twice": {
    body: { labelSelector: "sweep=1,sweep=2" },
    field: "labelSelector",
    message: /names sweep twice/,
  },
  "a selector without end": {
    body: { labelSelector: `${"a=1,".repeat(2000)}b=1` },
    field: "labelSelector",
    message: /at most 4096 characters/,
  },
  "a wrong position": {
    body: { labelSelector: "sweep=1", from: { "uid-a": "yesterday" } },
    field: "from.uid-a",
    message: /must be what an answer gave as continue/,
  },
  "positions that are a list": {
    body: { labelSelector: "sweep=1", from: ["1.1"] },
    field: "from",
    message: /at most 1000 positions/,
  },
  "too many positions": {
    body: { labelSelector: "sweep=1", from: long },
    field: "from",
    message: /at most 1000 positions/,
  },
  "an unknown field": {
    body: { labelSelector: "sweep=1", form: {} },
    field: "form",
    message: /is not known/,
  },
  "a body without end": {
    body: { labelSelector: "sweep=1", from: { x: "1".repeat(1_048_576) } },
    code: 413,
    message: /at most 1048576 bytes/,
  },
};
for (const [what, { body, code = 422, field, message }] of Object.entries(refused)) {
  Deno.test(`${what}: ${code}, after who asks`, async () => {
    const bench = jobsBench({ a: "1" });
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const answer = await bench.send(text);
    assert.equal(answer.status, code, answer.body);
    const failure = failureSchema.parse(JSON.parse(answer.body));
    assert.match(answer.body, message);
    if (field !== undefined) assert.ok(failure.details?.causes.some((it) => it.field === field));
    assert.equal((await bench.send(text, { authorization: null })).status, 401);
    bench.server.allows = false;
    await bench.clock.advance(30_000);
    assert.equal((await bench.send(text)).status, 403);
    assert.equal(bench.slots.open(), 0);
  });
}

Deno.test("rights are list and watch of the kind in the namespace, and the one that is missing is named", async () => {
  for (const verb of ["list", "watch"]) {
    const bench = jobsBench({ a: "1" });
    bench.server.denies = new RegExp(`"verb":"${verb}"`);
    const { status, body } = await bench.send({ labelSelector: "sweep=1" });
    assert.equal(status, 403);
    assert.match(
      body,
      new RegExp(`may not ${verb} trainjobs.trainer.kubeflow.org in namespace team`),
    );
  }
});

Deno.test("a stream of many jobs counts as one, and there are as many as of others", async () => {
  const bench = jobsBench({ a: "1", b: "1" });
  const first = await bench.open({ labelSelector: "sweep=1" });
  const second = await bench.open({ labelSelector: "sweep=1" });
  const { status, body } = await bench.send({ labelSelector: "sweep=1" });
  assert.equal(status, 429);
  assert.match(body, /max-streams-per-subject/);
  await first.stop();
  await second.stop();
  assert.equal(bench.slots.open(), 0);
});

Deno.test("a read that is late is tried again, and nothing waits after the reader has gone", async () => {
  const bench = jobsBench({ a: "1" });
  bench.hang();
  const stream = await bench.open({ labelSelector: "sweep=1" });
  await bench.clock.advance(5000);
  const [late, synced] = stream.heard();
  assert.match(late && problemOf(late) || "", /did not answer in time/);
  assert.equal(synced?.event, "synced");
  const asked = bench.asked.length;
  await bench.clock.advance(5000);
  assert.ok(bench.asked.length > asked);
  await stream.stop();
  assert.equal(bench.slots.open(), 0);
});

Deno.test("`jobGoneSchema` is what is told of a job that is gone", async () => {
  const bench = jobsBench({ a: "1" });
  const stream = await bench.open({ labelSelector: "sweep=1" });
  stream.heard();
  bench.remove("a");
  await settle();
  const [gone] = stream.heard();
  assert.deepEqual(jobGoneSchema.parse(gone?.data), { job: { name: "a", uid: "uid-a" } });
  await stream.stop();
});
