/** Tests of the observations of a term: acknowledged rows are in the log, rules are applied to it, and a stop is done once. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import type { ObservationSink } from "../../../owner/observations/sink.ts";
import type { ObservationRow } from "../../../trials/recording/observation_row.ts";
import { mappingOf } from "../../../trials/mapping/trial_template.ts";
import { pushOf, trialPlan, unsteadySink, withObservations } from "./observations_fixture.ts";

const never = new AbortController().signal;
const values = (rows: readonly ObservationRow[]) => rows.map(({ value }) => value);

/** A sink in memory that says that other owners can read it. */
function sharedSink(): ObservationSink {
  const inner = createMemorySink();
  return { ...inner, traits: { ...inner.traits, name: "sqlite", isShared: true } };
}

Deno.test("`Observations.accept()` answers when the rows are in the log, and not before", async () => {
  const plan = trialPlan("a");
  const { sink, inner, fail } = unsteadySink();
  await withObservations({ plans: [plan], sink }, async ({ push, clock, settle }) => {
    await settle();
    fail("hang");
    let answered = false;
    const first = push(plan, 1, "0.4").finally(() => answered = true);
    await settle();
    assert.equal(answered, false);
    await clock.advance(2_600);
    assert.deepEqual(await first, {
      retryAfterMs: 1_000,
      reason: "the observation log is not available: try again soon",
    });
    assert.deepEqual(await push(plan, 1, "0.4"), { ok: true });
    assert.deepEqual(values(await inner.read(plan.key, never)), ["0.4"]);
  });
});

Deno.test("`Observations.run()` closes them though logs are still looked for", async () => {
  const plan = trialPlan("a");
  const listed = Promise.withResolvers<void>();
  const dropLogs = () => listed.promise;
  await withObservations({ plans: [plan], dropLogs }, async ({ observations, push, settle }) => {
    assert.deepEqual(await push(plan, 1, "0.4"), { ok: true });
    const running = observations.run(AbortSignal.abort());
    await settle();
    const answer = await push(plan, 2, "0.4");
    assert.ok(answer?.ok !== true && answer?.retryAfterMs !== undefined, JSON.stringify(answer));
    listed.resolve();
    await running;
  });
});

Deno.test("`Observations.accept()` ignores jobs without a plan", async () => {
  const plan = trialPlan("a");
  await withObservations({ plans: [] }, async ({ push, answers }) => {
    assert.equal(await push(plan, 1, "1"), undefined);
    answers.set(plan.job.uid, { kind: "refused", why: "another's" });
    assert.equal(await push(plan, 1, "1"), undefined);
    answers.set(plan.job.uid, { kind: "unknown", why: "the cache is behind" });
    assert.deepEqual(await push(plan, 1, "1"), {
      retryAfterMs: 1_000,
      reason: "the cache is behind",
    });
  });
});

Deno.test("`Observations.accept()` records only the primary pod, and sends control.stop to the others, too", async () => {
  const plan = trialPlan("a");
  const sink = createMemorySink();
  const isPrimary = (_: unknown, { name }: { name: string }) =>
    name === "unknown" ? undefined : name.endsWith("-0");
  await withObservations({ plans: [plan], sink, isPrimary }, async ({ push }) => {
    const worker = { pod: { name: "a-node-0-1", uid: "worker" } };
    assert.equal(await push(plan, 1, "9", worker), undefined);
    assert.deepEqual(await push(plan, 1, "0.9"), { ok: true });
    const unknown = await push(plan, 1, "9", { pod: { name: "unknown", uid: "u" } });
    assert.ok(unknown?.ok !== true && unknown?.retryAfterMs === 1_000);
    const met = await push(plan, 2, "0.8");
    assert.ok(met?.ok && met.control?.stop === true, JSON.stringify(met));
    const told = await push(plan, 2, "9", worker);
    assert.deepEqual(told, { ok: true, control: met.control });
    assert.deepEqual(values(await sink.read(plan.key, never)), ["0.9", "0.8"]);
  });
});

Deno.test("a rule that is met stops the trial once, and every later answer says so", async () => {
  const plan = trialPlan("a");
  await withObservations({ plans: [plan] }, async ({ push, stops, outcomes, settle }) => {
    assert.deepEqual(await push(plan, 1, "0.9"), { ok: true });
    const deciding = await push(plan, 2, "0.8");
    const message = "stopped early: loss 0.8 is greater than 0.5, at report 2";
    const control = { stop: true, reason: "EarlyStopped", message };
    assert.deepEqual(deciding, { ok: true, control });
    await settle();
    assert.deepEqual(await push(plan, 3, "0.1"), { ok: true, control });
    assert.deepEqual(await push(plan, 2, "0.8"), { ok: true, control });
    await settle();
    assert.deepEqual(outcomes, ["stopped"]);
    assert.equal(stops.length, 1);
    assert.deepEqual(stops[0]?.observation, [{
      name: "loss",
      min: "0.8",
      max: "0.9",
      latest: "0.8",
    }]);
    assert.equal(stops[0]?.decision.message, "loss 0.8 is greater than 0.5, at report 2");
  });
});

Deno.test("a stop waits for its grace, and includes rows that came meanwhile", async () => {
  const plan = trialPlan("a", { graceMs: 30_000 });
  await withObservations({ plans: [plan] }, async ({ push, stops, clock }) => {
    await push(plan, 59, "0.9");
    await push(plan, 60, "0.8");
    await push(plan, 61, "0.2");
    await clock.advance(29_000);
    assert.equal(stops.length, 0);
    await clock.advance(1_500);
    assert.equal(stops.length, 1);
    assert.equal(stops[0]?.observation?.[0]?.latest, "0.2");
  });
});

Deno.test("`Observations.settle()` ends the grace of a job that ended on its own", async () => {
  const plan = trialPlan("a", { graceMs: 3_600_000 });
  await withObservations({ plans: [plan] }, async ({ push, stops, observations }) => {
    await push(plan, 59, "0.9");
    await push(plan, 60, "0.8");
    await observations.settle(plan.job, never);
    assert.equal(stops.length, 1);
  });
});

Deno.test("`Observations.settle()` waits for running pushes, until its deadline", async () => {
  const plan = trialPlan("a");
  const { sink, fail } = unsteadySink();
  await withObservations({ plans: [plan], sink }, async ({ push, observations, settle, clock }) => {
    await settle();
    fail("hang");
    const first = push(plan, 1, "0.1");
    await settle();
    const over = new AbortController();
    const settled: string[] = [];
    const short = observations.settle(plan.job, over.signal)?.then(() => settled.push("short"));
    const long = observations.settle(plan.job, never)?.then(() => settled.push("long"));
    await settle();
    assert.deepEqual(settled, []);
    over.abort();
    await short;
    assert.deepEqual(settled, ["short"]);
    await clock.advance(2_600);
    await Promise.all([first, long]);
    assert.deepEqual(settled, ["short", "long"]);
  });
});

Deno.test("a stop that cannot be written is tried again until it is", async () => {
  const plan = trialPlan("a");
  const onStopCall = (call: number) => {
    if (call < 3) throw new Error("the API server is away");
    return "stopped" as const;
  };
  await withObservations(
    { plans: [plan], onStopCall },
    async ({ push, stops, outcomes, clock }) => {
      await push(plan, 1, "0.9");
      await push(plan, 2, "0.8");
      await clock.advance(10_000);
      assert.equal(stops.length, 4);
      assert.deepEqual(outcomes, ["stopped"]);
    },
  );
});

const outages = ["before", "after"] as const;
for (const outage of outages) {
  Deno.test(`a write that fails ${outage} it has happened is recorded and counted once when it comes again`, async () => {
    const plan = trialPlan("a", {
      rules: [{ name: "loss", value: "0.5", comparison: "greater", startStep: 3 }],
    });
    const { sink, inner, fail } = unsteadySink();
    await withObservations({ plans: [plan], sink }, async ({ push, settle, stops }) => {
      await settle();
      assert.deepEqual(await push(plan, 1, "0.9"), { ok: true });
      fail(outage);
      const failed = await push(plan, 2, "0.8");
      assert.ok(failed?.ok !== true && failed !== undefined && failed.retryAfterMs >= 1_000);
      assert.deepEqual(await push(plan, 2, "0.8"), { ok: true });
      assert.deepEqual(await push(plan, 2, "0.8"), { ok: true });
      assert.deepEqual(values(await inner.read(plan.key, never)), ["0.9", "0.8"]);
      assert.equal(stops.length, 0);
      const third = await push(plan, 3, "0.7");
      assert.ok(third?.ok && third.control !== undefined);
      assert.deepEqual(values(await inner.read(plan.key, never)), ["0.9", "0.8", "0.7"]);
    });
  });
}

Deno.test("a new owner replays and judges open trials without a push, also if the sink is reachable only later", async () => {
  const [a, b] = [trialPlan("a"), trialPlan("b")];
  const unsteady = unsteadySink();
  const { sink, inner } = unsteady;
  const rows = (...losses: string[]) =>
    losses.map((value, step) => ({ time: `2026-01-01T00:00:0${step}Z`, name: "loss", value }));
  await inner.append(a.key, rows("0.9", "0.8"), never);
  await inner.append(b.key, rows("0.9", "0.1"), never);
  unsteady.down = "before";
  await withObservations({ plans: [a, b], sink }, async ({ stops, clock, push }) => {
    await clock.advance(5_000);
    assert.equal(stops.length, 0);
    const refused = await push(a, 61, "0.7");
    assert.ok(refused?.ok !== true && refused?.retryAfterMs === 2_000);
    unsteady.down = undefined;
    await clock.advance(6_000);
    assert.deepEqual(stops.map(({ plan }) => plan.job.name), ["a"]);
    assert.equal(stops[0]?.decision.time, "2026-01-01T00:00:01Z");
  });
});

Deno.test("an owner whose lease is late neither writes nor acknowledges nor stops", async () => {
  const plan = trialPlan("a", { graceMs: 500 });
  let leading = true;
  const { sink, inner, calls } = unsteadySink();
  await withObservations({ plans: [plan], sink, leading: () => leading }, async (scene) => {
    const { push, stops, clock } = scene;
    await push(plan, 59, "0.9");
    leading = false;
    const refused = await push(plan, 60, "0.8");
    assert.ok(refused?.ok !== true && refused?.retryAfterMs === 1_000);
    assert.deepEqual(values(await inner.read(plan.key, never)), ["0.9"]);
    assert.deepEqual(calls.filter((it) => it.startsWith("append")), ["append 1"]);
    leading = true;
    await push(plan, 60, "0.8");
    leading = false;
    await clock.advance(1_000);
    assert.equal(stops.length, 0);
    leading = true;
    await clock.advance(20_000);
    assert.equal(stops.length, 1);
  });
});

Deno.test("pushes of one log that wait go to the sink together, in their order", async () => {
  const plan = trialPlan("a", { rules: [] });
  const { sink, inner, calls, fail } = unsteadySink();
  await withObservations({ plans: [plan], sink }, async ({ push, settle, clock }) => {
    await settle();
    fail("hang");
    const first = push(plan, 1, "1");
    await settle();
    const rest = [2, 3, 4, 5].map((step) => push(plan, step, String(step)));
    await clock.advance(2_600);
    assert.ok((await first)?.ok !== true);
    assert.deepEqual((await Promise.all(rest)).map((it) => it?.ok), [true, true, true, true]);
    assert.deepEqual(calls.filter((it) => it.startsWith("append")), ["append 1", "append 4"]);
    assert.deepEqual(values(await inner.read(plan.key, never)), ["2", "3", "4", "5"]);
  });
});

Deno.test("the waiting pushes of one log are limited, and those whose clients are gone are not written", async () => {
  const plan = trialPlan("a", { rules: [] });
  const { sink, inner, fail } = unsteadySink();
  await withObservations({ plans: [plan], sink }, async ({ push, observations, settle, clock }) => {
    await settle();
    fail("hang");
    const first = push(plan, 0, "0");
    await settle();
    const gone = new AbortController();
    const left = observations.accept(pushOf(plan, 1, "1"), gone.signal);
    gone.abort();
    const rest = Array.from({ length: 300 }, (_, step) => push(plan, step + 2, String(step)));
    const tooMany = await rest.at(-1);
    assert.ok(tooMany?.ok !== true && /too many/.test(tooMany?.reason ?? ""));
    await clock.advance(2_600);
    await first;
    assert.equal((await left)?.ok, undefined);
    const taken = (await Promise.all(rest)).filter((it) => it?.ok).length;
    assert.equal(taken, 255);
    assert.equal((await inner.read(plan.key, never)).length, 255);
  });
});

Deno.test("rows that the log refuses for good are reported, and the push can be retried later", async () => {
  const plan = trialPlan("a");
  const { sink, fail } = unsteadySink();
  const told: string[] = [];
  const onRefused = (_: unknown, problem: string) => void told.push(problem);
  await withObservations({ plans: [plan], sink, onRefused }, async ({ push, settle }) => {
    await settle();
    fail("refused");
    const refused = await push(plan, 1, "0.9");
    assert.ok(refused?.ok !== true && refused?.retryAfterMs === 10_000);
    assert.deepEqual(told, ["no such row"]);
  });
});

Deno.test("a metric that a rule names and nobody pushes is told after ten pushes, once, and at the end", async () => {
  const lss = { name: "lss", value: "0.5", comparison: "greater" } as const;
  const plan = trialPlan("a", { rules: [lss] });
  const told: unknown[] = [];
  const onUnreported = (_: unknown, names: readonly string[], pushed?: readonly string[]) =>
    void told.push([names, pushed]);
  await withObservations({ plans: [plan], onUnreported }, async ({ push, settle }) => {
    await settle();
    for (let step = 1; step < 10; step++) await push(plan, step, "0.9");
    assert.deepEqual(told, []);
    for (let step = 10; step < 30; step++) await push(plan, step, "0.9");
    assert.deepEqual(told, [[["lss"], ["loss"]]]);
  });
});

const WORST = "1.7976931348623157e+308";
const badValues: Record<
  string,
  { first?: string; value: string; rows: string[]; stops: boolean; warns: boolean }
> = {
  "NaN": { value: "NaN", rows: ["0.1", WORST], stops: false, warns: true },
  "NaN twice": { first: "NaN", value: "NaN", rows: [WORST, WORST], stops: true, warns: true },
  "1e400": { value: "1e400", rows: ["0.1", WORST], stops: false, warns: true },
  "-Inf": { value: "-Inf", rows: ["0.1", WORST], stops: false, warns: true },
  "hexadecimal": { value: "0x1p-2", rows: ["0.1"], stops: false, warns: true },
  "text": { value: "much", rows: ["0.1"], stops: false, warns: true },
  "a number": { value: "0.2", rows: ["0.1", "0.2"], stops: false, warns: false },
};
for (const [sentence, bad] of Object.entries(badValues)) {
  const { first = "0.1", value, rows, stops: isStopped, warns } = bad;
  Deno.test(`an objective that is ${sentence} is recorded and judged the same by the next owner`, async () => {
    const plan = trialPlan("a");
    const sink = createMemorySink();
    await withObservations({ plans: [plan], sink }, async ({ push, stops, settle }) => {
      await push(plan, 1, first);
      const answer = await push(plan, 2, value);
      assert.ok(answer?.ok);
      assert.equal((answer.warnings?.length ?? 0) > 0, warns, JSON.stringify(answer));
      assert.equal(answer.control !== undefined, isStopped);
      await settle();
      assert.equal(stops.length, isStopped ? 1 : 0);
      assert.deepEqual(values(await sink.read(plan.key, never)), rows);
    });
    await withObservations({ plans: [plan], sink }, async ({ stops, settle, push }) => {
      await settle();
      assert.equal(stops.length, isStopped ? 1 : 0);
      const again = await push(plan, 2, value);
      assert.equal(again?.ok && again.control !== undefined, isStopped);
      assert.deepEqual(values(await sink.read(plan.key, never)), rows);
    });
  });
}

Deno.test("a plain job never gets 503 because of its log", async () => {
  const plain = trialPlan("a", {
    key: { kind: "job", namespace: "default", name: "a", uid: "job-a" },
    objective: undefined,
    isPlain: true,
    records: "all",
    rules: [],
  });
  const unsteady = unsteadySink(sharedSink());
  await withObservations({ plans: [plain], sink: unsteady.sink }, async (scene) => {
    const { push, clock, settle } = scene;
    await settle();
    assert.deepEqual(await push(plain, 1, "1"), { ok: true });
    unsteady.down = "hang";
    const first = push(plain, 2, "2");
    await clock.advance(2_600);
    const notRecorded = await first;
    assert.match(notRecorded?.ok && notRecorded.warnings?.[0] || "", /not recorded/);
    // The log is known to be down now, so that no push waits.
    assert.deepEqual(await push(plain, 3, "3"), notRecorded);
    assert.deepEqual(await push(plain, 4, "4"), notRecorded);
    unsteady.down = undefined;
    await clock.advance(2_600);
    await push(plain, 5, "5");
    await settle();
    assert.deepEqual(await push(plain, 6, "6"), { ok: true });
    const rows = values(await unsteady.inner.read(plain.key, never));
    assert.deepEqual(rows, ["1", "5", "6"]);
  });
});

Deno.test("`Observations.forget()` deletes a job's own log, and leaves a trial's to Katib", async () => {
  const trial = trialPlan("a");
  const job = trialPlan("b", {
    key: { kind: "job", namespace: "default", name: "b", uid: "job-b" },
  });
  const sink = createMemorySink();
  await withObservations({ plans: [trial, job], sink }, async ({ push, observations, settle }) => {
    for (const plan of [trial, job]) await push(plan, 1, "0.1");
    for (const plan of [trial, job]) observations.forget(plan.job);
    await settle();
    assert.equal((await sink.read(trial.key, never)).length, 1);
    assert.equal((await sink.read(job.key, never)).length, 0);
    observations.drop(trial.key);
    await settle();
    assert.equal((await sink.read(trial.key, never)).length, 0);
  });
});

Deno.test("`Observations.leave()` keeps every log, and stops nothing until the job is back", async () => {
  const job = trialPlan("b", {
    key: { kind: "job", namespace: "default", name: "b", uid: "job-b" },
    graceMs: 60_000,
  });
  const sink = createMemorySink();
  const world = { plans: [job], sink };
  await withObservations(world, async ({ push, observations, settle, stops, answers, clock }) => {
    await push(job, 59, "0.9");
    await push(job, 60, "0.8");
    const answer = answers.get(job.job.uid);
    answers.delete(job.job.uid);
    observations.leave(job.job);
    await settle();
    assert.equal((await sink.read(job.key, never)).length, 2);
    await clock.advance(120_000);
    assert.equal(stops.length, 0);
    if (answer !== undefined) answers.set(job.job.uid, answer);
    await clock.advance(120_000);
    assert.equal(stops.length, 1);
  });
});

Deno.test("a deleted job is not stopped", async () => {
  const plan = trialPlan("a", { graceMs: 60_000 });
  await withObservations(
    { plans: [plan] },
    async ({ push, observations, stops, answers, clock }) => {
      await push(plan, 59, "0.9");
      await push(plan, 60, "0.8");
      answers.delete(plan.job.uid);
      observations.forget(plan.job);
      await clock.advance(120_000);
      assert.equal(stops.length, 0);
    },
  );
});

Deno.test("readers get acknowledged rows: the summary, pages, and each change", async () => {
  const plan = trialPlan("a", { rules: [], records: "all" });
  await withObservations({ plans: [plan] }, async ({ push, observations }) => {
    const heard: string[] = [];
    const stop = observations.onChange((uid) => heard.push(uid));
    for (const [step, loss] of ["3", "1", "2"].entries()) await push(plan, step, loss);
    stop();
    const before = await observations.snapshotOf(plan.job, never);
    assert.deepEqual(before?.metrics, [{ name: "loss", min: "1", max: "3", latest: "2" }]);
    assert.equal(before?.primaryPod, "a-node-0-0");
    await push(plan, 4, "9");
    assert.ok(heard.length >= 3 && heard.every((uid) => uid === plan.job.uid));
    const page = await observations.pageOf(plan.job, { limit: 2 }, never);
    assert.deepEqual([page?.rows.map(({ value }) => value), page?.more], [["3", "1"], true]);
    const since = page?.rows[1]?.time;
    const rest = await observations.pageOf(plan.job, { since, seen: 1, limit: 9 }, never);
    assert.deepEqual([rest?.rows.map(({ value }) => value), rest?.more], [["2", "9"], false]);
    assert.equal(await observations.snapshotOf({ ...plan.job, uid: "other" }, never), undefined);
  });
});

Deno.test("unused logs are evicted and replayed, those of running stops are not", async () => {
  const plans = Array.from({ length: 6 }, (_, index) => trialPlan(`t${index}`));
  const { sink, calls } = unsteadySink();
  await withObservations({ plans, sink, maxLogs: 2 }, async ({ push, stops, settle }) => {
    for (const plan of plans) assert.ok((await push(plan, 1, "0.9"))?.ok);
    const reads = calls.filter((it) => it === "read").length;
    for (const plan of plans) {
      const answer = await push(plan, 2, "0.8");
      assert.ok(answer?.ok && answer.control);
    }
    assert.ok(calls.filter((it) => it === "read").length > reads);
    await settle();
    assert.equal(stops.length, 6);
  });
});

Deno.test("a push of which nothing was sent changes nothing: the log is not read again for it", async () => {
  const plan = trialPlan("a", { rules: [] });
  const { sink, inner, fail, calls } = unsteadySink();
  await withObservations({ plans: [plan], sink }, async ({ push, settle }) => {
    await settle();
    assert.equal((await push(plan, 1, "0.4"))?.ok, true);
    const before = calls.length;
    fail("unsent");
    assert.notEqual((await push(plan, 3, "0.3"))?.ok, true);
    // If the later one were still remembered, this one would be moved behind it.
    assert.equal((await push(plan, 2, "0.2"))?.ok, true);
    assert.equal((await push(plan, 3, "0.3"))?.ok, true);
    const rows = await inner.read(plan.key, never);
    assert.deepEqual(values(rows), ["0.4", "0.2", "0.3"]);
    assert.deepEqual(rows.map(({ time }) => Date.parse(time) % 60_000), [1_000, 2_000, 3_000]);
    assert.deepEqual(calls.slice(before).filter((it) => it === "read"), []);
    // Only the log shows what was sent.
    fail("before");
    assert.notEqual((await push(plan, 4, "0.1"))?.ok, true);
    assert.equal((await push(plan, 4, "0.1"))?.ok, true);
    assert.equal(
      calls.filter((it) => it === "read").length,
      1 + calls.slice(0, before)
        .filter((it) => it === "read").length,
    );
  });
});

Deno.test("the log of an annotated job is deleted with it, also by a new owner that never used it", async () => {
  const key = { kind: "job", namespace: "default", name: "a", uid: "job-a" } as const;
  const job = { ...key, kind: TRAINJOB };
  const plan = trialPlan("a", { key, job, rules: [] });
  const inner = createMemorySink();
  const sink: ObservationSink = {
    ...inner,
    traits: { ...inner.traits, name: "katib", keepsPlainJobs: false, isShared: true },
  };
  await withObservations({ plans: [plan], sink }, async ({ push }) => {
    await push(plan, 1, "0.4");
  });
  await withObservations({ sink }, async ({ observations, settle }) => {
    observations.forget(job, true);
    await settle();
    assert.deepEqual(await inner.read(plan.key, never), []);
  });
});

Deno.test("the end of a plain job does not wait for a log", async () => {
  const key = { kind: "job", namespace: "default", name: "a", uid: "job-a" } as const;
  const job = { ...key, kind: TRAINJOB };
  const plan = trialPlan("a", { key, job, rules: [], isPlain: true });
  const unsteady = unsteadySink(sharedSink());
  await withObservations(
    { plans: [plan], sink: unsteady.sink },
    async ({ push, observations, clock, settle }) => {
      await settle();
      unsteady.down = "hang";
      const pushed = push(plan, 1, "0.4");
      await settle();
      const waited = observations.settle(job, never);
      unsteady.down = undefined;
      await clock.advance(5_000);
      assert.equal((await pushed)?.ok, true);
      assert.equal(waited, undefined);
    },
  );
});

Deno.test("`accept()` warns a container that is not the template's that it is not recorded", async () => {
  const read = mappingOf({ primaryContainerName: "pytorch" }, TRAINJOB);
  assert.ok(read.ok);
  const { mapping } = read;
  const plan = trialPlan("a", { mapping });
  await withObservations({ plans: [plan] }, async ({ push }) => {
    assert.deepEqual(await push(plan, 1, "0.9", { container: "node" }), {
      ok: true,
      warnings: ['not recorded: container "node" pushed it, and primaryContainerName is "pytorch"'],
    });
    assert.deepEqual(await push(plan, 2, "0.4", { container: "pytorch" }), { ok: true });
    assert.deepEqual(await push(plan, 3, "0.4"), { ok: true }, "it says no name");
  });
});

Deno.test("`accept()` warns every pod of a job of which none is primary, and no pod beside a primary one", async () => {
  const plan = trialPlan("a");
  let problem: string | undefined = "no pod of the job will have the primaryPodLabels a=b";
  const isPrimary = () => false;
  const primaryProblem = () => problem;
  await withObservations({ plans: [plan], isPrimary, primaryProblem }, async ({ push }) => {
    const warnings = [`not recorded: ${problem}`];
    assert.deepEqual(await push(plan, 1, "0.9"), { ok: true, warnings });
    problem = undefined;
    assert.equal(await push(plan, 2, "0.9"), undefined);
  });
});
