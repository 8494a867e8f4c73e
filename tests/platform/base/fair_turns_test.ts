/** Tests of fair turns: nobody takes all places, and those who wait come one after the other. */
import assert from "node:assert/strict";
import { createFairTurns, type TurnLimits } from "../../../platform/base/fair_turns.ts";

/** Lets works begin that may. */
async function settle(): Promise<void> {
  for (let step = 0; step < 10; step++) await Promise.resolve();
}

/** Works that run until a test ends them. */
function works(limits: TurnLimits) {
  const inTurn = createFairTurns(limits);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    begun,
    /** Begins work of a key; resolves when that has ended. */
    work: (key: string, signal = new AbortController().signal) =>
      inTurn(key, () => {
        begun.push(key);
        return new Promise<void>((resolve) => ends.push(resolve));
      }, signal),
    /** Ends the oldest work that runs, and lets the next one begin. */
    async end() {
      ends.shift()?.();
      await settle();
    },
  };
}

Deno.test("a key has a few places, and leaves as many free as it has", async () => {
  const { begun, work } = works({ total: 8, perKey: 3 });
  for (const key of ["a", "b", "c", "d", "e"]) {
    for (let count = 0; count < 5; count++) void work(key);
  }
  await settle();
  assert.deepEqual(begun, ["a", "a", "a", "b", "b", "b", "c", "d"]);
});

Deno.test("those who wait take turns, however many works one of them has", async () => {
  const { begun, work, end } = works({ total: 1, perKey: 1 });
  for (const key of ["a", "a", "a", "a", "b", "b", "c"]) void work(key);
  await settle();
  for (let count = 0; count < 6; count++) await end();
  assert.deepEqual(begun, ["a", "b", "c", "a", "b", "a", "a"]);
});

Deno.test("who leaves while it waits takes no place, and a work that fails gives its place back", async () => {
  const inTurn = createFairTurns({ total: 1, perKey: 1 });
  const open = new AbortController();
  const gone = new AbortController();
  let end = () => {};
  const first = inTurn("a", () => new Promise<void>((resolve) => end = resolve), open.signal);
  const left = inTurn("b", () => Promise.reject(new Error("must not run")), gone.signal);
  const failing = inTurn("c", () => Promise.reject(new Error("failed")), open.signal);
  gone.abort(new Error("left"));
  await assert.rejects(left, /left/);
  end();
  await first;
  await assert.rejects(failing, /failed/);
  assert.equal(await inTurn("d", () => Promise.resolve(4), open.signal), 4);
  await assert.rejects(inTurn("d", () => Promise.resolve(4), gone.signal), /left/);
});

Deno.test("without a bound in all each key has its own", async () => {
  const { begun, work } = works({ perKey: 2 });
  for (const key of ["a", "b", "c"]) for (let count = 0; count < 3; count++) void work(key);
  await settle();
  assert.deepEqual(begun, ["a", "a", "b", "b", "c", "c"]);
});
