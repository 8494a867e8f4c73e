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
for (const [sentence, [bounds, ages]] of Object.entries(CASES)) {
  Deno.test(`beyondBounds() returns ${sentence}`, () =>
    deepEqual(beyondBounds(LOGS, bounds, NOW).map(({ age }) => age), ages));
}
