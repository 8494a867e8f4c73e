/** Tests of the curves of a term: what is kept of pushes, and the gaps that are marked. */
import assert from "node:assert/strict";
import { openTermCurves } from "../../../owner/curves/term_curves.ts";
import type { AnyJob, JobRef } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { Push } from "../../../crds/wire/push.ts";
import type { Change } from "../../../platform/kube/watching/informer_cache.ts";
import { WATCHED, type WatchedPod } from "../../../crds/watched.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** The curves of a term over one job, whose object a test changes. */
function start(curveBytes = 1 << 20) {
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
  const state = {
    object: object(),
    pod: undefined as WatchedPod | undefined,
    tell: (_change: Change<AnyJob>): void => {},
    tellPod: (_change: Change<WatchedPod>): void => {},
  };
  const onChange = (listener: (change: Change<AnyJob>) => void) => {
    state.tell = listener;
    return () => {};
  };
  const pods = {
    get: () => state.pod,
    onChange(listener: (change: Change<WatchedPod>) => void) {
      state.tellPod = listener;
      return () => {};
    },
  };
  const jobs = new Map([[TRAINJOB, { jobs: { get: () => state.object, onChange }, pods }]]);
  const curves = openTermCurves({
    jobs,
    jobSets: { onChange: () => () => {} },
    clock,
    curveBytes,
  });
  const pushOf = (time: string, value: string, uid = job.uid): Push => ({
    job: { ...job, uid },
    pod: { name: "p", uid: "p1" },
    trainerStatus: { lastUpdatedTime: time, metrics: [{ name: "loss", value }] },
    receivedMs: clock.now(),
  });
  const marks = () => curves.store.curvesOf(job.uid)?.marks.map(({ kind, text }) => [kind, text]);
  const points = () =>
    curves.store.curvesOf(job.uid)?.metrics.find(({ name }) => name === "loss")?.points.length ??
      0;
  return { clock, job, at, object, state, curves, pushOf, marks, points };
}

Deno.test("the first push of a job marks no gap, nor do those after it", () => {
  const { curves, at, pushOf, marks, object, state } = start();
  curves.record(pushOf(at(-2_000), "1"));
  state.object = object(at(-2_000));
  curves.record(pushOf(at(-1_000), "2"));
  assert.deepEqual(marks(), []);
});

Deno.test("a job that pushes nothing but its step has no gaps between its pushes", () => {
  const { curves, at, pushOf, marks, object, state } = start();
  for (const step of [1, 2, 3]) {
    const lastUpdatedTime = at(-5_000 + 1_000 * step);
    curves.record({ ...pushOf(lastUpdatedTime, ""), trainerStatus: { lastUpdatedTime, step } });
    state.object = object(lastUpdatedTime);
  }
  assert.deepEqual(marks(), []);
});

Deno.test("the curves of a job that is not followed for a while stay, those of a deleted one go", () => {
  const { curves, at, pushOf, marks, object, points, state } = start();
  curves.record(pushOf(at(-2_000), "1"));
  state.tell({ type: "left", object: object(undefined, true), old: object() });
  assert.deepEqual([points(), marks()], [1, []]);
  state.tell({ type: "deleted", object: object(), old: object() });
  assert.equal(points(), 0);
});

Deno.test("what another replica was told is a gap, also if the job was marked before it pushed", () => {
  const { clock, at, pushOf, marks, object, state, curves } = start();
  state.object = object(at(-60_000));
  curves.store.mark("u1", { timeMs: clock.now(), kind: "restarted", text: "a try" });
  curves.record(pushOf(at(0), "1"));
  assert.deepEqual(marks()?.map(([kind]) => kind).sort(), ["gap", "restarted"]);
});

Deno.test("a job whose curves had to give way begins again behind a gap", async () => {
  const { clock, at, pushOf, marks, object, state, curves, points } = start(40_000);
  curves.record(pushOf(at(0), "1"));
  state.object = object(at(0));
  for (let other = 0; points() > 0; other++) {
    curves.record(pushOf(at(1), "1", `other-${other}`));
    assert.ok(other < 100);
  }
  await clock.advance(10_000);
  curves.record(pushOf(at(0), "2"));
  assert.match(String(marks()), /^gap,Memory was short/);
  assert.ok((curves.store.bytes) <= 40_000);
});

Deno.test("curves of a job that has ended give way first, also if its values came later", () => {
  const { at, pushOf, object, state, curves, points } = start(40_000);
  state.object = object(undefined, true);
  curves.record(pushOf(at(0), "1", "running"));
  curves.record(pushOf(at(1), "1"));
  for (let other = 0; points() > 0; other++) {
    curves.record(pushOf(at(2), "1", `other-${other}`));
    assert.ok(other < 100);
  }
  assert.ok(curves.store.hasSamples("running"));
});

/** A pod of the job whose container was started again so often, and runs since then. */
const podOf = (job: JobRef, uid: string, restartCount: number, startedAt: string) =>
  WATCHED.pod.parse({
    metadata: {
      name: "p",
      namespace: job.namespace,
      uid,
      labels: { [TRAINJOB.podLabels.jobName]: job.name },
    },
    status: {
      phase: "Running",
      containerStatuses: [{
        name: "node",
        restartCount,
        state: { running: { startedAt } },
        ...(restartCount > 0 && {
          lastState: { terminated: { exitCode: 1, finishedAt: startedAt } },
        }),
      }],
    },
  });

Deno.test("a container that is started again is marked, in a pod that has pushed for the job", () => {
  const { curves, at, pushOf, marks, state, job } = start();
  const restart = (uid: string) => {
    const [old, object] = [0, 1].map((restarts) => podOf(job, uid, restarts, at(0)));
    state.tellPod({ type: "updated", old, object: object! });
  };
  restart("p1");
  assert.equal(marks(), undefined);
  curves.record(pushOf(at(-1_000), "1"));
  restart("of somebody who has only the label");
  assert.deepEqual(marks(), []);
  restart("p1");
  assert.deepEqual(marks(), [["restarted", "p exited 1"]]);
});

Deno.test("a container that was started again between two terms is marked, at its start and once", async () => {
  const { clock, curves, at, pushOf, state, object, job } = start();
  state.object = object(at(-60_000));
  state.pod = podOf(job, "p1", 1, at(1_000));
  // The page asked for the curves before the first push.
  curves.store.record(job, undefined, [{
    timeMs: clock.now() - 60_000,
    metrics: [{ name: "loss", value: "3" }],
  }]);
  await clock.advance(5_000);
  curves.record(pushOf(at(-1_000), "1"));
  curves.record(pushOf(at(0), "2"));
  const restarts = curves.store.curvesOf(job.uid)?.marks.filter(({ kind }) => kind === "restarted");
  const timeMs = clock.now() - 4_000;
  assert.deepEqual(restarts, [{ timeMs, kind: "restarted", text: "p exited 1" }]);
});

const unmarked: Record<string, { shownMs: number; uid?: string; restarts: number }> = {
  "a new leader, where nothing restarted": { shownMs: -2_000, restarts: 0 },
  "a restart that the term before has seen": { shownMs: -2_000, restarts: 1 },
  "a pod that has only the name": { shownMs: -60_000, uid: "p2", restarts: 1 },
};
for (const [sentence, { shownMs, uid = "p1", restarts }] of Object.entries(unmarked)) {
  Deno.test(`no restart is marked for ${sentence}`, () => {
    const { curves, at, pushOf, state, object, job, marks } = start();
    state.object = object(at(shownMs));
    state.pod = podOf(job, uid, restarts, at(-10_000));
    curves.record(pushOf(at(0), "1"));
    assert.deepEqual(marks()?.map(([kind]) => kind), ["gap"]);
  });
}
