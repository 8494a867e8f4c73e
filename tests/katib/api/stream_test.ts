/** Tests of streams of observations: each row once, each change of the state, and the end. */
import assert from "node:assert/strict";
import { SinkError } from "../../../owner/observations/sink.ts";
import { parseBlock } from "../../support/event_client.ts";
import { settle } from "../../support/fake_clock.ts";
import { apiBench, requestOf, runningJob, tokenWith } from "./api_bench.ts";

/** A stream that runs, and what came on it. */
async function watch(bench: ReturnType<typeof apiBench>, query = "", claims = {}) {
  const { stream } = await bench.api.handle(
    requestOf({ query: `?watch=true${query}`, authorization: `Bearer ${tokenWith(claims)}` }),
  );
  assert.ok(stream !== undefined);
  const gone = new AbortController();
  const texts: string[] = [];
  const done = { is: false };
  const running = stream({
    signal: gone.signal,
    write(text) {
      texts.push(String(text));
      return Promise.resolve();
    },
  }).then(() => done.is = true);
  await settle();
  /** What came since the last call, as [event, log values, rest]. */
  return {
    done,
    heard: () => texts.splice(0).map((text) => parseBlock(text.trimEnd())),
    async stop() {
      gone.abort();
      await running;
    },
  };
}

type Heard = ReturnType<typeof parseBlock>;

/** Rows of each event, in their order. */
function values(heard: readonly Heard[]): string[][] {
  return heard.flatMap((it) => {
    if (!("event" in it) || typeof it.data !== "object" || it.data === null) return [];
    if (!("log" in it.data) || !Array.isArray(it.data.log)) return [];
    return [it.data.log.map(({ value }) => String(value))];
  });
}

Deno.test("a stream sends existing rows, then each new row once, with increasing ids", async () => {
  const bench = apiBench();
  bench.log.push(1);
  bench.log.push(2);
  const stream = await watch(bench);
  const first = stream.heard();
  assert.ok("retry" in (first[0] ?? {}));
  assert.deepEqual(values(first), [["1", "2"]]);
  bench.log.push(3);
  await settle();
  const second = stream.heard();
  assert.deepEqual(values(second), [["3"]]);
  const ids = [...first, ...second].flatMap((it) => "id" in it ? [it.id ?? 0] : []);
  assert.ok(ids.length === 2 && (ids[0] ?? 0) < (ids[1] ?? 0));
  await stream.stop();
});

Deno.test("a stream of a job without a log begins with its state, and repeats nothing", async () => {
  const bench = apiBench();
  const stream = await watch(bench);
  assert.partialDeepStrictEqual(stream.heard()[1], {
    event: "observation",
    data: { state: "Running", metrics: [], log: [] },
  });
  for (const ring of bench.changed) ring();
  await settle();
  assert.deepEqual(stream.heard(), []);
  bench.jobs.set("team/job", runningJob({ state: "Created" }));
  for (const ring of bench.changed) ring();
  await settle();
  assert.partialDeepStrictEqual(stream.heard(), [{ data: { reason: "Created" } }]);
  await stream.stop();
});

Deno.test("a change of the job that leaves its state asks for no log, unless others may write to it", async () => {
  for (const isTold of [true, false]) {
    const bench = apiBench();
    bench.log.isTold.is = isTold;
    bench.log.push(1);
    const stream = await watch(bench);
    stream.heard();
    // A row without news, as others write them.
    const asked = bench.log.pages();
    bench.log.rows.push({ time: "2026-01-01T00:00:02Z", name: "loss", value: "2" });
    for (const ring of bench.changed) ring();
    await settle();
    assert.deepEqual(values(stream.heard()), isTold ? [] : [["2"]]);
    assert.equal(bench.log.pages() - asked, isTold ? 0 : 1);
    bench.jobs.set("team/job", runningJob({ state: "Created" }));
    for (const ring of bench.changed) ring();
    await settle();
    const heard = stream.heard();
    assert.deepEqual(values(heard), isTold ? [["2"]] : [[]]);
    assert.partialDeepStrictEqual(heard, [{ data: { reason: "Created" } }]);
    bench.log.push(3);
    await settle();
    assert.deepEqual(values(stream.heard()), [["3"]]);
    await stream.stop();
  }
});

Deno.test("a stream goes through a long log page by page", async () => {
  const bench = apiBench();
  for (let second = 1; second <= 5; second++) bench.log.push(second);
  const stream = await watch(bench, "&limit=2");
  assert.deepEqual(values(stream.heard()), [["1", "2"], ["3", "4"], ["5"]]);
  await stream.stop();
});

Deno.test("a stream begins after the rows that another one has sent", async () => {
  const bench = apiBench();
  bench.log.push(1);
  bench.log.push(2);
  const first = await watch(bench);
  const told = first.heard().at(-1);
  await first.stop();
  bench.log.push(3);
  assert.ok(told !== undefined && "data" in told);
  const { data } = told;
  assert.ok(typeof data === "object" && data !== null && "continue" in data);
  const again = await watch(bench, `&continue=${data.continue}`);
  assert.deepEqual(values(again.heard()), [["3"]]);
  await again.stop();
});

Deno.test("a stream ends at once if the job was deleted before it began to listen", async () => {
  const finds = [runningJob(), undefined];
  const bench = apiBench({ findJob: () => finds.shift() });
  bench.jobs.clear();
  const stream = await watch(bench);
  assert.partialDeepStrictEqual(stream.heard().at(-1), {
    event: "end",
    data: { reason: "Deleted" },
  });
  assert.ok(stream.done.is);
});

Deno.test("the end of the job is sent after its last rows", async () => {
  const bench = apiBench();
  const stream = await watch(bench);
  stream.heard();
  bench.log.rows.push({ time: "2026-01-01T00:00:09Z", name: "loss", value: "last" });
  for (const end of bench.ends) end("Complete");
  await settle();
  const heard = stream.heard();
  assert.deepEqual(values(heard), [["last"]]);
  assert.partialDeepStrictEqual(heard.at(-1), { event: "end", data: { reason: "Complete" } });
  assert.ok(stream.done.is);
  assert.equal(bench.slots.open(), 0);
});

Deno.test("an unreachable log is tried again, and nothing is missed", async () => {
  const bench = apiBench();
  const stream = await watch(bench);
  stream.heard();
  bench.log.fault.error = new SinkError("unavailable", "down");
  bench.log.push(1);
  await settle();
  assert.deepEqual(stream.heard(), []);
  delete bench.log.fault.error;
  await bench.clock.advance(1000);
  await settle();
  assert.deepEqual(values(stream.heard()), [["1"]]);
  await stream.stop();
});

Deno.test("streams that wait for one log retry at different times, within ten seconds", async () => {
  const bench = apiBench({ random: () => 0.99 });
  const stream = await watch(bench);
  stream.heard();
  bench.log.fault.error = new SinkError("unavailable", "down", { retryAfterMs: 3_600_000 });
  bench.log.push(1);
  await settle();
  delete bench.log.fault.error;
  await bench.clock.advance(9900);
  await settle();
  assert.deepEqual(values(stream.heard()), []);
  await bench.clock.advance(100);
  await settle();
  assert.deepEqual(values(stream.heard()), [["1"]]);
  await stream.stop();
});

Deno.test("a stream does not end while the job's last rows cannot be read", async () => {
  const bench = apiBench();
  const stream = await watch(bench);
  stream.heard();
  bench.log.fault.error = new SinkError("unavailable", "down");
  for (const end of bench.ends) end("Complete");
  for (let tries = 0; tries < 6; tries++) await bench.clock.advance(1000);
  const heard = stream.heard();
  assert.equal(heard.length, 1);
  assert.match(JSON.stringify(heard), /ended: the end of the log cannot be read now/);
  assert.ok(stream.done.is);
});

Deno.test("nothing waits after the reader has gone", async () => {
  const bench = apiBench();
  const stream = await watch(bench);
  bench.log.fault.error = new SinkError("unavailable", "down");
  for (const end of bench.ends) end("Complete");
  await settle();
  await stream.stop();
  assert.equal(bench.slots.open(), 0);
});

Deno.test("a stream ends with its token, and with the rights of its reader", async (t) => {
  await t.step("the token expires", async () => {
    const bench = apiBench();
    const stream = await watch(bench, "", { exp: bench.clock.now() / 1000 + 30 });
    await bench.clock.advance(30_000);
    assert.match(JSON.stringify(stream.heard()), /ended: the token has expired/);
    assert.ok(stream.done.is);
  });
  await t.step("the API server no longer accepts the token", async () => {
    const bench = apiBench();
    const stream = await watch(bench);
    bench.server.accepts = false;
    await bench.clock.advance(60_000);
    await settle();
    assert.match(JSON.stringify(stream.heard()), /ended: the API server does not accept/);
    assert.ok(stream.done.is);
  });
  await t.step("the reader may no longer get the job", async () => {
    const bench = apiBench();
    const stream = await watch(bench);
    bench.server.allows = false;
    await bench.clock.advance(60_000);
    await settle();
    assert.match(JSON.stringify(stream.heard()), /may not get TrainJob team\/job/);
    assert.ok(stream.done.is);
  });
  await t.step("an unreachable API server does not end the stream", async () => {
    const bench = apiBench();
    const stream = await watch(bench);
    bench.server.isAway = true;
    await bench.clock.advance(60_000);
    await settle();
    assert.ok(!stream.done.is);
    await stream.stop();
  });
  await t.step("another job has its name", async () => {
    const bench = apiBench();
    const stream = await watch(bench);
    const job = runningJob();
    bench.jobs.set("team/job", { ...job, metadata: { ...job.metadata, uid: "uid-2" } });
    await bench.clock.advance(60_000);
    await settle();
    assert.partialDeepStrictEqual(stream.heard().at(-1), {
      event: "end",
      data: { reason: "Deleted" },
    });
  });
});
