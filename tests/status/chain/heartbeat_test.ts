/** Tests of heartbeats at the status endpoint: what is handed over, and what is refused. */
import assert from "node:assert/strict";
import type { Beat } from "../../../crds/wire/push.ts";
import { handlerBench, PATH, PUSH } from "./handler_bench.ts";

const RANKS = [[8, 1203, 0.4, "train.py:88"], [9, 1203, 0.5]];

Deno.test("a heartbeat is handed to the owner, and answered as an empty push", async () => {
  const control = { stop: true, reason: "EarlyStopped", message: "stopped early: m" };
  const beats: Beat[] = [];
  const { send, accepted } = handlerBench({
    beat: (beat) => void beats.push(beat),
    controlNow: () => control,
  });
  assert.deepEqual((await send({ body: { heartbeat: { ranks: RANKS } } })).body, { control });
  assert.deepEqual(accepted, []);
  assert.deepEqual(beats.map(({ job, pod, ranks }) => [job.uid, pod.uid, ranks]), [
    ["uid-trainjob", "uid-pod-1", RANKS],
  ]);
  const both = await send({ body: { ...PUSH, heartbeat: { ranks: [] } } });
  assert.deepEqual(both.body, PUSH);
  assert.deepEqual([accepted.length, beats.length], [1, 2]);
  assert.deepEqual((await send({ body: { heartbeat: null } })).body, { control });
});

const rank = (...values: unknown[]) => ({ ranks: [values] });
const WRONG: Readonly<Record<string, readonly [heartbeat: unknown, field: string]>> = {
  "a text": ["here", "heartbeat"],
  "no ranks": [{}, "heartbeat.ranks"],
  "seventeen ranks": [{ ranks: Array(17).fill([0, 1, 2]) }, "heartbeat.ranks"],
  "a rank alone": [rank(0), "heartbeat.ranks[0]"],
  "too much of a rank": [rank(0, 1, 2, "a", "b"), "heartbeat.ranks[0]"],
  "a step that is no number": [rank(0, "NaN", 2), "heartbeat.ranks[0][1]"],
  "a step without a value, as JSON has NaN": [rank(0, NaN, 2), "heartbeat.ranks[0][1]"],
  "a step below 0": [rank(0, -1, 2), "heartbeat.ranks[0][1]"],
  "a step that is not whole": [rank(0, 1.5, 2), "heartbeat.ranks[0][1]"],
  "seconds below 0": [rank(0, 1, -2), "heartbeat.ranks[0][2]"],
  "a long place": [rank(0, 1, 2, "x".repeat(49)), "heartbeat.ranks[0][3]"],
  "a place with a control character": [rank(0, 1, 2, "a\u0007b"), "heartbeat.ranks[0][3]"],
};
for (const [what, [heartbeat, field]] of Object.entries(WRONG)) {
  Deno.test(`a heartbeat with ${what} is refused, and says where`, async () => {
    const { send } = handlerBench({ beat: () => assert.fail("handed over") });
    const { status, body } = await send({ body: { heartbeat } });
    assert.equal(status, 422);
    assert.equal(body.details.causes[0].field, field);
  });
}

Deno.test("heartbeats have a rate of their own, and pushes go on", async () => {
  let beats = 0;
  const { send } = handlerBench({ beat: () => void beats++ });
  const codes = [];
  for (let count = 0; count < 12; count++) {
    codes.push((await send({ body: { heartbeat: { ranks: [] } } })).status);
  }
  assert.deepEqual([beats, codes.slice(9)], [10, [200, 429, 429]]);
  assert.equal((await send()).status, 200);
});

Deno.test("a pod cannot send a heartbeat for another job, nor in another namespace", async () => {
  const { send } = handlerBench({ beat: () => assert.fail("handed over") });
  const codes = [];
  for (const url of [PATH.replace("job-1", "job-2"), PATH.replace("/team/", "/other/")]) {
    codes.push((await send({ url, body: { heartbeat: { ranks: [] } } })).status);
  }
  assert.deepEqual(codes, [404, 403]);
});
