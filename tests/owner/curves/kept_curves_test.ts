/** Tests of curves that outlive their term: read from logs when they are asked for, with what is kept beside these. */
import assert from "node:assert/strict";
import { type LogStore, openLogStore } from "../../../katib/log/log_store.ts";
import { createStoreSink } from "../../../katib/log/sqlite_sink.ts";
import { curveAsks } from "../../../owner/curves/curve_asks.ts";
import { createKeptCurves } from "../../../owner/curves/kept_curves.ts";
import { GAP_TEXTS } from "../../../owner/curves/marks.ts";
import { type ObservationSink, SinkError } from "../../../owner/observations/sink.ts";
import { createOwnedState } from "../../../owner/owned_state.ts";
import type { AnyJob } from "../../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { type Curve, type CurvePoint, parseShownCurves } from "../../../crds/wire/shown_curves.ts";
import type { Sample } from "../../../crds/wire/sample.ts";
import type { Change } from "../../../platform/kube/watching/informer_cache.ts";
import type { ObservationPlan } from "../../../trials/plan/observation_plan.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";
import { logged } from "../../support/logged.ts";
import { PLAIN_JOB as job, PLAIN_PLAN, recordingParts } from "../recording_parts.ts";

const NEVER = new AbortController().signal;

interface SceneOptions {
  readonly planFor?: () => ObservationPlan | { readonly kind: "unknown"; readonly why: string };
  /** What the sink does other than a file. */
  readonly sink?: Partial<ObservationSink>;
  readonly curveBytes?: number;
}

/** A job, a sink that outlives terms, and a replica that owns the state term after term. */
function scene({ planFor = () => PLAIN_PLAN, sink = {}, curveBytes = 1 << 20 }: SceneOptions = {}) {
  const clock = new FakeClock(undefined, () => settlePromises(100));
  const store = openLogStore();
  const file = createStoreSink({ name: "sqlite", isDurable: true, store, clock });
  const listeners = new Set<(change: Change<AnyJob>) => void>();
  const reads = { count: 0 };
  // After the begin of the first term, and before that of the second.
  const created = new Date(clock.now() + 20_000).toISOString();
  const objectWith = (status: AnyJob["status"]): AnyJob => ({
    apiVersion: TRAINJOB.apiVersion,
    kind: TRAINJOB.kind,
    metadata: { ...job, creationTimestamp: created },
    status,
  });
  let object = objectWith({});
  const owned = createOwnedState({
    client: new MemoryCluster().client(),
    jobs: new Map([[TRAINJOB, {
      jobs: {
        get: () => object,
        onChange(listener) {
          listeners.add(listener);
          listener({ type: "added", object });
          return () => listeners.delete(listener);
        },
      },
    }]]),
    jobSets: { onChange: () => () => {} },
    clock,
    curveBytes,
    leadership: { leading: true, deadlineMs: () => 4_000 },
    intervalMs: 1_000,
    writesPerSecond: 50,
    recording: () =>
      recordingParts({
        planFor,
        sink: {
          ...file,
          read: (...asked) => (reads.count++, file.read(...asked)),
          ...sink,
        },
      }),
  });
  const asks = curveAsks({ kinds: JOB_KINDS, clock, zoom: () => Promise.resolve([]) });
  const { kind: _, ...named } = job;
  return {
    clock,
    store,
    reads,
    owned,
    /** Begins a term. Returns how it ends. */
    begin() {
      const over = new AbortController();
      const running = owned.run(over.signal, 2_000);
      return async () => {
        over.abort();
        await clock.advance(3_000);
        await running;
      };
    },
    async push(sample: Omit<Sample, "lastUpdatedTime">, pod = "p1") {
      await clock.advance(1_000);
      const answer = owned.accept({
        job,
        pod: { name: pod, uid: pod },
        trainerStatus: { lastUpdatedTime: new Date(clock.now()).toISOString(), ...sample },
        receivedMs: clock.now(),
      }, NEVER);
      await clock.advance(100);
      return await answer;
    },
    /** The object says this from now on. */
    async tell(status: AnyJob["status"]) {
      const old = object;
      object = objectWith(status);
      for (const listener of listeners) listener({ type: "updated", object, old });
      await clock.advance(1_100);
    },
    /** The job is deleted. */
    remove() {
      const old = object;
      object = { ...old, metadata: { ...old.metadata, uid: "another" } };
      for (const listener of listeners) listener({ type: "deleted", object: old, old });
    },
    /** Asks for the curves as a viewer does. */
    async look() {
      const refs = [{ ...named, kind: TRAINJOB.id }];
      const answer = owned.ask(asks, { jobs: [job.uid], points: 128, refs }, NEVER);
      await clock.advance(1_300);
      const found = await answer;
      assert.ok(found !== undefined && "curves" in found);
      const [curves] = found.curves;
      assert.ok(curves);
      return curves;
    },
  };
}

type Scene = ReturnType<typeof scene>;

const LOG = "job/team/job/uid-1";
const metrics = (loss: number) => [{ name: "loss", value: String(loss) }];
const COMPLETE = { conditions: [{ type: "Complete", status: "True" }] };
const shownOf = (percent: number, time: string) => ({
  trainerStatus: { progressPercentage: percent, metrics: metrics(1), lastUpdatedTime: time },
});
const marksOf = ({ marks }: Awaited<ReturnType<Scene["look"]>>) =>
  marks.map(({ kind, text }) => [kind, text]);

/** The same curves with a step in each point: that of its bucket, where it has not its own. */
function placed(metrics: readonly Curve[]) {
  const all = metrics.find(({ isStep }) => isStep)?.points;
  const steps = new Map(all?.map(([timeMs, , , step]) => [timeMs, step]));
  return metrics.map(({ points, ...curve }) => ({
    ...curve,
    points: points.map((
      [timeMs, min, max, last, step = steps.get(timeMs)],
    ) => [timeMs, min, max, last, step]),
  }));
}

/** A run with all that is shown of one: metrics, progress, steps, another pod, a suspension, an end. */
async function train({ push, tell }: Scene) {
  for (let step = 0; step < 30; step++) {
    const pod = step < 20 ? "job-0-aaaaa" : "job-0-bbbbb";
    await push({ metrics: metrics(30 - step), progressPercentage: step * 3, step }, pod);
  }
  await tell({ conditions: [{ type: "Suspended", status: "True", message: "somebody did" }] });
  await tell({ conditions: [{ type: "Suspended", status: "False", message: "goes on" }] });
  await push({ progressPercentage: 100 }, "job-0-bbbbb");
}

for (const [how, isEnded] of [["a running job", false], ["a job that ended", true]] as const) {
  Deno.test(`the curves of ${how} are the same after a restart`, async () => {
    const it = scene();
    const endFirst = it.begin();
    await train(it);
    if (isEnded) await it.tell(COMPLETE);
    const before = await it.look();
    assert.deepEqual(before.metrics.map(({ name }) => name), ["loss", "progress", "step"]);
    assert.deepEqual(before.marks.map(({ kind }) => kind), ["pod", "suspended", "resumed"]);
    assert.equal(it.reads.count, 1, "that of the push that was first");
    await endFirst();
    await it.clock.advance(7 * 24 * 3_600_000);
    const endSecond = it.begin();
    const after = await it.look();
    assert.deepEqual(after.marks, before.marks);
    assert.deepEqual(placed(after.metrics), placed(before.metrics));
    // Once is enough.
    const { count } = it.reads;
    await it.look();
    assert.equal(it.reads.count, count);
    await endSecond();
  });
}

Deno.test("a job that goes on pushing after a restart has one curve, without a gap", async () => {
  const it = scene();
  const endFirst = it.begin();
  await train(it);
  const before = await it.look();
  const seen = new Date(it.clock.now()).toISOString();
  await endFirst();
  await it.tell(shownOf(100, seen));
  const endSecond = it.begin();
  await it.push({ metrics: metrics(0.5), progressPercentage: 100, step: 31 }, "job-0-bbbbb");
  const after = await it.look();
  assert.deepEqual(after.marks, before.marks);
  const pointsOf = (curves: typeof after) =>
    curves.metrics.map(({ points }) => points.reduce((sum, [, , , last]) => sum + last, 0));
  assert.deepEqual(pointsOf(after), pointsOf(before).map((sum, at) => sum + [0.5, 100, 31][at]!));
  // Marks that came in the first term are still there after one that had others.
  await it.tell({ conditions: [{ type: "Suspended", status: "True", message: "again" }] });
  await endSecond();
  const endThird = it.begin();
  assert.deepEqual((await it.look()).marks.length, before.marks.length + 1);
  await endThird();
});

Deno.test("a follower is given the whole curves at once", async () => {
  const it = scene();
  const endFirst = it.begin();
  await train(it);
  const before = await it.look();
  await endFirst();
  const endSecond = it.begin();
  const news = it.owned.changes.curves([{ job }], 10_000, NEVER);
  await it.clock.advance(900);
  const [first] = await news ?? [];
  assert.deepEqual(placed(first?.curves.metrics ?? []), placed(before.metrics));
  assert.deepEqual(first?.curves.marks, before.marks);
  await endSecond();
});

Deno.test("curves that gave way to others are read again, and lose their gap", async () => {
  const it = scene({ curveBytes: 6_000 });
  const end = it.begin();
  await it.push({ metrics: metrics(1) });
  const seen = new Date(it.clock.now()).toISOString();
  for (let n = 0; it.owned.term?.curves.hasSamples(job.uid); n++) {
    assert.ok(n < 100);
    const sample = { timeMs: it.clock.now(), metrics: metrics(1) };
    it.owned.term.curves.record({ uid: `other-${n}` }, { name: "p", uid: "p" }, [sample]);
  }
  await it.tell(shownOf(1, seen));
  await it.push({ metrics: metrics(2) });
  assert.deepEqual(marksOf(await it.look()), [["gap", GAP_TEXTS.short]]);
  await it.clock.advance(60_000);
  const whole = await it.look();
  assert.deepEqual([marksOf(whole), whole.metrics[0]?.points.length], [[], 2]);
  await end();
});

const KATIBS = { keep: () => Promise.resolve(), read: () => Promise.resolve(undefined) };
/** What a sink over the store keeps beside its logs. */
function historyOf(store: LogStore) {
  const clock = new FakeClock();
  const { history } = createStoreSink({ name: "sqlite", isDurable: true, store, clock });
  assert.ok(history);
  return history;
}

const down = () => Promise.reject(new SinkError("unavailable", "the disk is full"));
const GAPS: Readonly<
  Record<string, {
    options: SceneOptions;
    isEnded?: boolean;
    forgets?: boolean;
    want: readonly unknown[];
    points: number;
  }>
> = {
  "Katib's table keeps no progress": {
    options: { sink: { history: KATIBS } },
    want: [["gap", GAP_TEXTS.restarted]],
    points: 30,
  },
  "the log of a job that ended was deleted": {
    options: {},
    isEnded: true,
    forgets: true,
    want: [["gap", GAP_TEXTS.gone]],
    points: 0,
  },
  "it is not known where the log is": {
    options: { planFor: () => ({ kind: "unknown", why: "a cache is behind" }) },
    want: [],
    points: 0,
  },
};
for (
  const [sentence, { options, isEnded = false, forgets, want, points }] of Object.entries(GAPS)
) {
  Deno.test(`a gap says so where ${sentence}`, async () => {
    const it = scene(options);
    const endFirst = it.begin();
    await train(it);
    await endFirst();
    if (forgets) it.store.delete(LOG);
    const seen = new Date(it.clock.now()).toISOString();
    await it.tell({ ...shownOf(100, seen), ...(isEnded && COMPLETE) });
    await it.clock.advance(1_000);
    const endSecond = it.begin();
    const shown = await it.look();
    assert.deepEqual(marksOf(shown), want);
    assert.equal(shown.metrics.find(({ name }) => name === "loss")?.points.length ?? 0, points);
    await endSecond();
  });
}

Deno.test("while nothing can be kept pushes are taken all the same, and all is kept later", async () => {
  let isDown = true;
  const store = openLogStore();
  const history = historyOf(store);
  const it = scene({
    sink: {
      history: {
        keep: (...asked) => isDown ? down() : history.keep(...asked),
        read: (...asked) => isDown ? down() : history.read(...asked),
      },
    },
  });
  const end = it.begin();
  await train(it);
  const before = await it.look();
  assert.equal(before.metrics.length, 3);
  assert.equal(store.history(LOG), "");
  isDown = false;
  await it.clock.advance(60_000);
  const kept = parseShownCurves(store.history(LOG));
  assert.deepEqual(kept?.metrics, before.metrics.slice(1));
  assert.deepEqual(kept?.marks, before.marks);
  await end();
});

for (const [when, downFrom] of [["for a while", 10], ["from its begin", 0]] as const) {
  Deno.test(`the curves of a job whose log was down ${when} are the same after restarts`, async () => {
    const store = openLogStore();
    const file = createStoreSink({
      name: "sqlite",
      isDurable: true,
      store,
      clock: new FakeClock(),
    });
    const history = historyOf(store);
    let isDown = false;
    const it = scene({
      sink: {
        append: (...asked) => isDown ? down() : file.append(...asked),
        read: (...asked) => file.read(...asked),
        history: { ...history, keep: (...asked) => isDown ? down() : history.keep(...asked) },
      },
    });
    const shown = async () =>
      (await it.look()).metrics.filter(({ isProgress }) => !isProgress)
        .toSorted((one, other) => one.name < other.name ? -1 : 1);
    const endFirst = it.begin();
    for (let step = 0; step < 40; step++) {
      isDown = step >= downFrom && step < 30;
      const value = step === 20 ? "NaN" : step === 21 ? "-Inf" : String(40 - step);
      const others = step === 25 ? [{ name: "other", value: "1e300" }] : [];
      await it.push({ metrics: [{ name: "loss", value }, ...others], step });
    }
    const before = await shown();
    await endFirst();
    assert.equal(new Set(store.read(LOG).map(({ at }) => at)).size, downFrom + 10);
    assert.deepEqual(before.map(({ name, points }) => [name, points.length]), [
      ["loss", 38],
      ["loss", 2],
      ["other", 1],
      ["step", 40],
    ]);
    for (let restart = 0; restart < 3; restart++) {
      const end = it.begin();
      // What is kept anew has it, too.
      if (restart === 1) await it.push({ progressPercentage: 1 });
      assert.deepEqual(await shown(), before);
      assert.deepEqual(marksOf(await it.look()), []);
      await end();
    }
  });
}

Deno.test("what was pushed right before the end of a term is kept", async () => {
  const it = scene();
  const end = it.begin();
  await it.push({ progressPercentage: 1 });
  await end();
  assert.equal(parseShownCurves(it.store.history(LOG))?.metrics.length, 1);
});

const START_MS = new FakeClock().now();

/** Kept curves of jobs named as their UIDs, each with these points, and a sink that answers so. */
function keptWith(
  history: Pick<NonNullable<ObservationSink["history"]>, "keep" | "read">,
  points: CurvePoint[] = [],
) {
  const objectOf = (key: unknown): AnyJob => ({
    apiVersion: TRAINJOB.apiVersion,
    kind: TRAINJOB.kind,
    metadata: { uid: Object(key).name },
  });
  const kept = createKeptCurves({
    clock: new FakeClock(),
    jobs: new Map([[TRAINJOB, { jobs: { get: objectOf, onChange: () => () => {} } }]]),
    store: {
      ...{ record() {}, mark() {}, unmark() {}, end() {} },
      curvesOf: () => ({
        widthMs: 1,
        metrics: [{ name: "progress", isProgress: true, points }],
        marks: [],
      }),
    },
    logs: {
      pageOf: () => Promise.resolve(undefined),
      logOf: ({ namespace, name, uid }) => Promise.resolve({ kind: "job", namespace, name, uid }),
      history,
    },
  });
  return { kept, change: (uid: string) => kept.changed({ ...job, name: uid, uid }) };
}

Deno.test("texts go to the sink in calls of a few megabytes, at the end of a term, too", async () => {
  const uids = Array.from({ length: 12 }, (_, n) => `uid-${n}`);
  const calls: number[][] = [];
  const { kept, change } = keptWith({
    keep: (news) => Promise.resolve(void calls.push(news.map(({ text = "" }) => text.length))),
    read: () => Promise.resolve(""),
  }, Array.from({ length: 25_000 }, (): CurvePoint => [START_MS, 1, 1, 1]));
  uids.forEach(change);
  await kept.close(60_000);
  const [longest = 0] = calls.flat();
  assert.ok(longest > 400_000);
  assert.equal(calls.flat().length, uids.length, "all of them are kept");
  for (const call of calls) {
    assert.ok(call.reduce((sum, it) => sum + it, 0) < (4 << 20) + longest, String(call));
  }
});

for (const call of ["keep", "read"] as const) {
  Deno.test(`a term that ends while its sink fails to ${call} says what is lost`, async () => {
    const history = historyOf(openLogStore());
    const records = await logged(async () => {
      const it = scene({ sink: { history: { ...history, [call]: down } } });
      const end = it.begin();
      await it.push({ progressPercentage: 1 });
      await end();
    }, "warning");
    assert.deepEqual(records.map(({ rawMessage, properties }) => [rawMessage, properties]), [[
      "progress and marks of jobs could not be kept",
      { jobs: 1, problem: "the disk is full" },
    ]]);
  });
}

Deno.test("what is kept beside a log is not that of another job of its name, nor of one that is gone", async () => {
  const it = scene();
  const text = JSON.stringify({
    uid: "uid-0",
    metrics: [],
    marks: [{ timeMs: it.clock.now(), kind: "restarted", text: "of another" }],
  });
  it.store.keep([{ log: LOG, isPlain: true, text }]);
  await it.clock.advance(60_000);
  const end = it.begin();
  assert.deepEqual(marksOf(await it.look()), []);
  it.store.keep([{ log: LOG, isPlain: true, text: "no JSON" }]);
  await it.push({ progressPercentage: 1 });
  await it.clock.advance(1_100);
  assert.equal(parseShownCurves(it.store.history(LOG))?.metrics.length, 1);
  await it.push({ progressPercentage: 2 });
  it.store.delete(LOG);
  it.remove();
  await it.clock.advance(5_000);
  assert.equal(it.store.history(LOG), "");
  await end();
});

Deno.test("what is kept of a job says each time whether it has ended", async () => {
  const { begin, push, tell, clock, store } = scene();
  // As a job had left it that ended, where logs are known by their names.
  store.keep([{ log: LOG, isPlain: true, text: "of another", endedMs: 1 }]);
  const end = begin();
  await push({ metrics: metrics(1) });
  await clock.advance(1_100);
  assert.equal(store.expire(Infinity), undefined, "the job runs");
  await tell(COMPLETE);
  assert.equal(store.expire(clock.now() - 10_000), undefined);
  assert.equal(store.expire(clock.now() + 1), LOG);
  await push({ progressPercentage: 100, metrics: [] });
  await clock.advance(1_100);
  assert.notEqual(store.history(LOG), "");
  assert.equal(store.expire(clock.now() + 1), LOG, "what came late is of a job that ended");
  await end();
});

Deno.test("a term that ends says what is lost, also if other jobs change meanwhile", async () => {
  const { kept, change } = keptWith({
    keep: () => Promise.resolve(),
    read() {
      ["uid-2", "uid-3"].forEach(change);
      return down();
    },
  });
  change("uid-1");
  const records = await logged(() => kept.close(60_000), "warning");
  assert.deepEqual(
    records.map(({ rawMessage }) => rawMessage),
    ["progress and marks of jobs could not be kept"],
  );
});
