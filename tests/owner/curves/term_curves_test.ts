/** Tests of the curves of a term: what is kept of pushes and logs, and the gaps that are marked. */
import assert from "node:assert/strict";
import { createTermCurves } from "../../../owner/curves/term_curves.ts";
import type { AnyJob, JobRef } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { PushAnswer } from "../../../crds/wire/push_answer.ts";
import type { Push } from "../../../crds/wire/push.ts";
import type { PushRecorder } from "../../../owner/owned_state.ts";
import type { Change } from "../../../platform/kube/watching/informer.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** A term over one job, whose object a test changes. */
function start(
  answer: (push: Push) => ReturnType<PushRecorder["accept"]> = () => undefined,
  maxBytes?: number,
) {
  const clock = new FakeClock();
  const job: JobRef = { kind: TRAINJOB, namespace: "ml", name: "mnist", uid: "u1" };
  const at = (ms: number) => new Date(clock.now() + ms).toISOString();
  const object = (shown?: string, ended = false, more = {}): AnyJob => ({
    apiVersion: TRAINJOB.apiVersion,
    kind: TRAINJOB.kind,
    metadata: { name: job.name, namespace: job.namespace, uid: job.uid },
    status: {
      ...(shown !== undefined && { trainerStatus: { lastUpdatedTime: shown, ...more } }),
      ...(ended && { conditions: [{ type: "Complete", status: "True" }] }),
    },
  });
  const state = { object: object(), tell: (_change: Change<AnyJob>): void => {} };
  const onChange = (listener: (change: Change<AnyJob>) => void) => {
    state.tell = listener;
    return () => {};
  };
  const jobs = new Map([[TRAINJOB, { jobs: { get: () => state.object, onChange } }]]);
  const curves = createTermCurves({
    jobs,
    jobSets: { onChange: () => () => {} },
    clock,
    maxBytes: maxBytes ?? 1 << 20,
  });
  const begin = () =>
    curves.begin({
      accept: answer,
      stopped: () => undefined,
      forget() {},
      leave() {},
      run: () => Promise.resolve(),
    });
  const pushOf = (time: string, value: string, uid = job.uid): Push => ({
    job: { ...job, uid },
    pod: { name: "p", uid: "p1" },
    trainerStatus: { lastUpdatedTime: time, metrics: [{ name: "loss", value }] },
    receivedMs: clock.now(),
  });
  const marks = () =>
    curves.current?.curvesOf(job.uid)?.marks.map(({ kind, text }) => [kind, text]);
  const points = () =>
    curves.current?.curvesOf(job.uid)?.metrics.find(({ name }) => name === "loss")?.points.length ??
      0;
  const signal = new AbortController().signal;
  return { clock, job, at, object, state, curves, begin, pushOf, marks, points, signal };
}

Deno.test("the first push of a job marks no gap, nor do those after it", () => {
  const { at, begin, pushOf, marks, object, state, signal } = start();
  const recorder = begin();
  recorder.accept(pushOf(at(-2_000), "1"), signal);
  state.object = object(at(-2_000));
  recorder.accept(pushOf(at(-1_000), "2"), signal);
  assert.deepEqual(marks(), []);
});

Deno.test("the curves of a job that is not followed for a while stay, those of a deleted one go", async () => {
  const { at, begin, pushOf, marks, object, points, state, signal } = start();
  const recorder = begin();
  recorder.accept(pushOf(at(-2_000), "1"), signal);
  const over = new AbortController();
  const running = recorder.run(over.signal);
  state.tell({ type: "left", object: object(undefined, true), old: object() });
  assert.deepEqual([points(), marks()], [1, []]);
  state.tell({ type: "deleted", object: object(), old: object() });
  assert.equal(points(), 0);
  over.abort();
  await running;
});

Deno.test("what another replica was told is a gap, also if the job was marked before it pushed", () => {
  const { clock, at, begin, pushOf, marks, object, state, curves, signal } = start();
  const recorder = begin();
  state.object = object(at(-60_000));
  curves.current?.mark("u1", { timeMs: clock.now(), kind: "restarted", text: "a try" });
  recorder.accept(pushOf(at(0), "1"), signal);
  assert.deepEqual(marks()?.map(([kind]) => kind).sort(), ["gap", "restarted"]);
});

Deno.test("a job whose curves had to give way begins again behind a gap", async () => {
  const { clock, at, begin, pushOf, marks, object, state, curves, points, signal } = start(
    undefined,
    40_000,
  );
  const recorder = begin();
  recorder.accept(pushOf(at(0), "1"), signal);
  state.object = object(at(0));
  for (let other = 0; points() > 0; other++) {
    recorder.accept(pushOf(at(1), "1", `other-${other}`), signal);
    assert.ok(other < 100);
  }
  await clock.advance(10_000);
  recorder.accept(pushOf(at(0), "2"), signal);
  assert.match(String(marks()), /^gap,memory was short/);
  assert.ok((curves.current?.bytes ?? Infinity) <= 40_000);
});

Deno.test("what was restored from a log has a gap where more was known", () => {
  const { at, begin, job, marks, object, state, curves, points } = start();
  begin();
  const rows = [{ time: at(-60_000), name: "loss", value: "1" }];
  curves.restore(job, rows);
  assert.deepEqual(marks(), []);
  state.object = object(at(-60_000), false, { metrics: [{ name: "loss", value: "1" }] });
  curves.restore(job, rows);
  assert.deepEqual(marks(), [], "the log has all that was shown");
  state.object = object(at(-60_000), false, { progressPercentage: 40 });
  curves.restore(job, rows);
  assert.match(
    String(marks()),
    /^gap,another replica led before: of what it was told only the log/,
  );
  assert.equal(points(), 1);
});

const REFUSED: PushAnswer = { ok: false, retryAfterMs: 1000, reason: "busy" };
const ANSWERS: Readonly<Record<string, readonly [ReturnType<PushRecorder["accept"]>, number]>> = {
  "that no log records": [undefined, 1],
  "that is taken": [{ ok: true }, 1],
  "that is taken later": [Promise.resolve({ ok: true as const }), 1],
  "that no log records after all": [Promise.resolve(undefined), 1],
  "that is refused": [REFUSED, 0],
  "that is refused later": [Promise.resolve(REFUSED), 0],
};
for (const [what, [answer, want]] of Object.entries(ANSWERS)) {
  Deno.test(`a push ${what} is ${want === 0 ? "not " : ""}in the curves`, async () => {
    const { at, begin, pushOf, points, signal } = start(() => answer);
    assert.deepEqual(await begin().accept(pushOf(at(0), "1"), signal), await answer);
    assert.equal(points(), want);
  });
}

Deno.test("curves of a job that has ended give way first, whenever its values came", () => {
  for (const how of ["a push", "a log"]) {
    const { at, begin, job, pushOf, object, state, curves, points, signal } = start(
      undefined,
      40_000,
    );
    const recorder = begin();
    state.object = object(undefined, true);
    recorder.accept(pushOf(at(0), "1", "running"), signal);
    if (how === "a push") recorder.accept(pushOf(at(1), "1"), signal);
    else curves.restore(job, [{ time: at(1), name: "loss", value: "1" }]);
    for (let other = 0; points() > 0; other++) {
      recorder.accept(pushOf(at(2), "1", `other-${other}`), signal);
      assert.ok(other < 100);
    }
    assert.ok((curves.current?.versionOf("running") ?? 0) > 0, how);
  }
});
