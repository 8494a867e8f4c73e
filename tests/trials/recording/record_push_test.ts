/** Tests of pushes with several samples: their rows and warnings. */
import assert from "node:assert/strict";
import { startRecord } from "../../../trials/recording/record.ts";
import { recordPush, WARNINGS_MAX } from "../../../trials/recording/record_push.ts";

const sample = (seconds: string, ...metrics: string[]) => ({
  time: `2026-01-02T03:04:${seconds}Z`,
  metrics: metrics.map((name) => ({ name, value: "high" })).concat({ name: "a", value: "1" }),
});

Deno.test("`recordPush()` records the samples of a history in their order, and a whole one once", () => {
  const push = { pod: "p", samples: [sample("10"), sample("11"), sample("11", "b")] };
  const first = recordPush(startRecord({}), push);
  assert.equal(first.verdict, "new");
  assert.deepEqual(first.rows.map(({ time }) => time.slice(17)), ["10Z", "11Z", "11.000001Z"]);
  const again = recordPush(first.state, push);
  assert.equal(again.verdict, "retry");
  assert.deepEqual(again.rows, []);
  const longer = recordPush(first.state, { ...push, samples: [...push.samples, sample("12")] });
  assert.equal(longer.verdict, "new");
  assert.deepEqual(longer.rows.map(({ time }) => time.slice(17)), ["12Z"]);
});

Deno.test("`recordPush()` treats a push without samples or rows as a new one", () => {
  const state = startRecord({});
  for (const samples of [[], [{ time: "2026-01-02T03:04:05Z", metrics: [] }]]) {
    const recorded = recordPush(state, { pod: "p", samples });
    assert.equal(recorded.verdict, "new");
    assert.deepEqual(recorded.rows, []);
  }
});

Deno.test("`recordPush()` warns once about each metric, up to a limit", () => {
  const names = Array.from({ length: 100 }, (_, index) => `m${index}`);
  const push = { pod: "p", samples: [sample("10", ...names), sample("11", ...names)] };
  const { warnings } = recordPush(startRecord({}), push);
  assert.equal(warnings.length, WARNINGS_MAX);
  assert.match(warnings[0] ?? "", /^metric m0: "high" is not a number/);
  assert.equal(warnings.at(-1), "and 81 more warnings about metrics");
});
