/** Tests of the verdicts of `deno task bench attack`: no goal is met where nothing was measured. */
import assert from "node:assert/strict";
import { atMostThrice, failures, idleAttacks, medianOf } from "../../bench/attack/verdicts.ts";
import type { Load } from "../../bench/generator/plan.ts";
import { isMet, type Measure } from "../../bench/result.ts";

const latencies = (count: number, p99: number) => ({
  count,
  p50: p99,
  p90: p99,
  p99,
  max: p99,
  histogram: [],
});

/** What the generator reports of pushes that were all taken within 5 ms. */
function load(changes: Partial<Load> = {}): Load {
  return {
    ...{ name: "load", sent: 10, unsent: 0, answers: 10, ok: 10, byStatus: { "200": 10 } },
    ...{ errors: {}, timeouts: 0, refused: 0, seconds: 1, rate: 10, handshakes: 2, resumed: 0 },
    ...{ reconnects: 0, latency: latencies(10, 5), warm: latencies(10, 5), warmOk: 10 },
    ...{ examples: [], again: 0, withoutReturn: 0, outcomes: "" },
    ...changes,
  };
}

/** All connections were cut: the generator has no latencies then. */
const CUT = load({
  ...{ answers: 0, ok: 0, byStatus: {}, errors: { closed: 10 } },
  ...{ latency: latencies(0, 0), warm: latencies(0, 0) },
});
const IDLE = load({ ...CUT, sent: 0, errors: {}, handshakes: 0 });
const REFUSED = load({ ok: 0, byStatus: { "429": 10 } });

const p99 = (quiet: readonly Load[], attacked: readonly Load[]): Measure => ({
  name: "p99",
  value: medianOf(attacked, "p99"),
  unit: "ms",
  goal: atMostThrice(medianOf(quiet, "p99")),
});

const P99S: Record<string, { measure: Measure; want: boolean }> = {
  "met as long as the quiet one": { measure: p99([load()], [load()]), want: true },
  "missed without an answer": { measure: p99([load()], [CUT]), want: false },
  "missed without a quiet answer": { measure: p99([CUT], [load()]), want: false },
  "missed without any answer": { measure: p99([CUT], [CUT]), want: false },
};
for (const [sentence, { measure, want }] of Object.entries(P99S)) {
  Deno.test(`the goal of a p99 is ${sentence}`, () => assert.equal(isMet(measure), want));
}

const FAILURES: Record<string, { loads: (Load | undefined)[]; want: number }> = {
  "none": { loads: [load(), load()], want: 0 },
  "those that were refused at once": { loads: [load(), REFUSED], want: 10 },
  "those that were cut": { loads: [CUT], want: 10 },
  "those that were not sent in time": { loads: [load({ unsent: 3 })], want: 3 },
  "without bound if a load did not run": { loads: [load(), IDLE], want: Infinity },
  "without bound if a load is missing": { loads: [load(), undefined], want: Infinity },
};
for (const [sentence, { loads, want }] of Object.entries(FAILURES)) {
  Deno.test(`failures() are ${sentence}`, () => assert.equal(failures("f", loads).value, want));
}

Deno.test("idleAttacks() names attacks that reached nothing in any turn", () => {
  const hold = { name: "hold", opened: 5, most: 0, answers: {} };
  const turn = (hostile: Load, said: number) => ({ hostile: [hostile], held: [{ ...hold, said }] });
  assert.equal(isMet(idleAttacks([turn(load(), 0), turn(IDLE, 4)])), true);
  const missed = idleAttacks([turn(load(), 0), turn(load(), 0)]);
  assert.equal(isMet(missed), false);
  assert.equal(missed.note, "of 2: hold");
  assert.equal(isMet(idleAttacks([])), false);
});
