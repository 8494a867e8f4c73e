/** Tests of the bounds of logs of ended pods. */
import { deepEqual } from "node:assert/strict";
import { beyondBounds, type LogBounds } from "../../../../standalone/kubelet/logs/log_bounds.ts";

const NOW = 10_000;
/** The newest last; the name is the age. */
const LOGS = [9_000, 500, 1_000, 0].map((age) => ({ age, endedMs: NOW - age, bytes: 10 }));

const CASES: Record<string, [bounds: LogBounds, ages: number[]]> = {
  "nothing within them": [{ bytes: 40, ageMs: 0 }, []],
  "the oldest beyond the bytes": [{ bytes: 25, ageMs: 0 }, [1_000, 9_000]],
  "those that are too old, of any size": [{ bytes: 1_000, ageMs: 1_000 }, [1_000, 9_000]],
  "what is beyond either": [{ bytes: 10, ageMs: 5_000 }, [500, 1_000, 9_000]],
  "everything where nothing may be kept": [{ bytes: 0, ageMs: 0 }, [0, 500, 1_000, 9_000]],
};
/** Of pods that are gone, but the last; the newest first. */
const GONE = ["b", "a", "a", "b", "a", "c", undefined].map((goneOf, age) => ({
  name: `${goneOf ?? "there"}${age}`,
  goneOf,
  endedMs: NOW - age,
  bytes: 10,
}));
const ANY = 100;
const COUNTS: Record<string, [most: { inAll: number; ofJob: number }, bytes: number, string[]]> = {
  "nothing within the counts": [{ inAll: 6, ofJob: 3 }, 70, []],
  "the oldest of each job with too many": [{ inAll: 6, ofJob: 1 }, 70, ["a2", "b3", "a4"]],
  "the oldest of all, but none of a pod that is there": [{ inAll: 3, ofJob: 3 }, 70, [
    "b3",
    "a4",
    "c5",
  ]],
  "the oldest of all that their jobs have left": [{ inAll: 2, ofJob: 1 }, 70, [
    "a2",
    "b3",
    "a4",
    "c5",
  ]],
  "what is beyond the bytes without those": [{ inAll: ANY, ofJob: 1 }, 30, [
    "a2",
    "b3",
    "a4",
    "there6",
  ]],
};
for (const [sentence, [most, bytes, names]] of Object.entries(COUNTS)) {
  Deno.test(`beyondBounds() returns ${sentence}`, () =>
    deepEqual(beyondBounds(GONE, { bytes, ageMs: 0 }, NOW, most).map(({ name }) => name), names));
}

for (const [sentence, [bounds, ages]] of Object.entries(CASES)) {
  Deno.test(`beyondBounds() returns ${sentence}`, () =>
    deepEqual(beyondBounds(LOGS, bounds, NOW).map(({ age }) => age), ages));
}
