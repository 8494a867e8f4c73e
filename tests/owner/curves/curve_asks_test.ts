/** Tests of the curves at their owner: how much one answer holds. */
import assert from "node:assert/strict";
import type { JobRef } from "../../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { curveAsks } from "../../../owner/curves/curve_asks.ts";
import { CURVE_LIMITS } from "../../../crds/wire/view_limits.ts";
import { GAP_TEXTS } from "../../../owner/curves/marks.ts";
import { createCurveStore } from "../../../owner/curves/curve_store.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const JOBS = 100;
const never = new AbortController().signal;

Deno.test("an answer ends at about its most characters, and names the jobs that come with the next one", async () => {
  const clock = new FakeClock();
  const store = createCurveStore({ clock });
  const uids = Array.from({ length: JOBS }, (_, n) => `u${n}`);
  const names = ["loss", "accuracy", "rate", "norm"];
  for (let second = 0; second < 120; second++) {
    for (const uid of uids) {
      const value = String(Math.sin(second) / 7);
      const metrics = names.map((name) => ({ name, value }));
      store.record({ uid }, undefined, [{ timeMs: clock.now() - second * 1000, metrics }]);
    }
  }
  const asks = curveAsks({
    kinds: JOB_KINDS,
    clock,
    zoom: () => Promise.resolve([]),
  });
  const none = () => Promise.resolve(undefined);
  const changes = { status: none, observation: none, curves: none };
  const restore = () => undefined;
  const rest = { restarts: { store: () => Promise.reject() }, resumptionOf: () => ({}) };
  const others = { stalls: { beat() {} }, ...rest };
  const term = { observations: undefined, curves: store, ...others, restore, changes };
  const sizes: number[] = [];
  const told = new Set<string>();
  for (let left = uids; left.length > 0;) {
    const answer = await asks.answer(term, { jobs: left, points: CURVE_LIMITS.points }, never);
    assert.ok(answer !== undefined && "curves" in answer && answer.curves.length > 0);
    sizes.push(JSON.stringify(answer).length);
    for (const { uid } of answer.curves) told.add(uid);
    left = answer.left;
  }
  assert.equal(told.size, JOBS);
  assert.ok(Math.max(...sizes) < 1.3 * CURVE_LIMITS.answerCharacters, String(sizes));
  assert.ok((sizes[0] ?? 0) > 0.5 * CURVE_LIMITS.answerCharacters, String(sizes));
});

Deno.test("curves whose log is still being read come with the next answer, and alone with a mark that says so", async () => {
  const clock = new FakeClock();
  const store = createCurveStore({ clock });
  const timeMs = clock.now() - 125_000;
  for (const uid of ["slow", "quick"]) {
    store.record({ uid }, undefined, [{ timeMs, metrics: [{ name: "loss", value: "1" }] }]);
  }
  const asks = curveAsks({ kinds: JOB_KINDS, clock, zoom: () => Promise.resolve([]) });
  const none = () => Promise.resolve(undefined);
  const changes = { status: none, observation: none, curves: none };
  const asked: string[][] = [];
  const restore = (jobs: readonly JobRef[]) => {
    asked.push(jobs.map(({ kind, uid }) => `${kind.id}/${uid}`));
    return Promise.resolve(["slow"]);
  };
  const rest = { restarts: { store: () => Promise.reject() }, resumptionOf: () => ({}) };
  const others = { stalls: { beat() {} }, ...rest };
  const term = { observations: undefined, curves: store, ...others, restore, changes };
  const ref = (uid: string, kind: string) => ({ kind, namespace: "n", name: uid, uid });
  const refs = [ref("slow", TRAINJOB.id), ref("quick", TRAINJOB.id), ref("x", "unknown")];
  const both = await asks.answer(term, { jobs: ["slow", "quick"], points: 9, refs }, never);
  assert.ok(both !== undefined && "curves" in both);
  assert.deepEqual([both.curves.map(({ uid }) => uid), both.left], [["quick"], ["slow"]]);
  assert.deepEqual(asked, [[`${TRAINJOB.id}/slow`, `${TRAINJOB.id}/quick`]]);
  const alone = await asks.answer(term, { jobs: ["slow"], points: 9, refs }, never);
  assert.ok(alone !== undefined && "curves" in alone);
  assert.deepEqual([alone.curves[0]?.marks, alone.left], [
    [{ timeMs, kind: "gap", text: GAP_TEXTS.reading }],
    [],
  ]);
});
