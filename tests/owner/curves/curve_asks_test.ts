/** Tests of the curves at their owner: how much one answer holds. */
import assert from "node:assert/strict";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { curveAsks } from "../../../owner/curves/curve_asks.ts";
import { CURVE_LIMITS } from "../../../crds/wire/view_limits.ts";
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
  const term = { observations: undefined, curves: store, restore, changes };
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
