/** Tests of the accounting of `deno task bench trials --db-manager`. */
import assert from "node:assert/strict";
import { accountOf, bodyOf, type LoggedValue, type Part } from "../../bench/trials/accounts.ts";

/** Both rows of a push. */
const push = (value: string): LoggedValue[] => [
  { name: "loss", value },
  { name: "accuracy", value },
];
const NOTHING = { acknowledged: 0, lost: 0, doubled: 0, unacknowledged: 0, foreign: 0 };

Deno.test("accountOf() counts lost, doubled and unknown rows", async (t) => {
  const part = (outcomes: string): Part => ({ digit: "1", outcomes });
  const cases: Record<string, [Part[], LoggedValue[][], Partial<typeof NOTHING>]> = {
    "all rows are there": [[part("++")], [push("10"), push("11")], { acknowledged: 2 }],
    "a row is missing": [
      [part("++")],
      [push("10"), push("11").slice(1)],
      { acknowledged: 2, lost: 1 },
    ],
    "a row is there twice": [
      [part("+")],
      [[...push("10"), ...push("10").slice(1)]],
      { acknowledged: 1, doubled: 1 },
    ],
    "a row is there that was not acknowledged": [
      [part("-+")],
      [push("10"), push("11")],
      { acknowledged: 1, unacknowledged: 1 },
    ],
    "a row that was not acknowledged is there twice": [
      [part("-")],
      [[...push("10"), ...push("10")]],
      { unacknowledged: 1, doubled: 1 },
    ],
    "a row is in another trial's log": [
      [part("++")],
      [push("11"), push("11")],
      { acknowledged: 2, lost: 1, foreign: 2 },
    ],
    "a row is of a push that was not sent": [[part(".")], [push("10")], { foreign: 2 }],
    "parts are distinguished": [
      [part("+"), { digit: "2", outcomes: "+" }],
      [[...push("10"), ...push("20")]],
      { acknowledged: 2 },
    ],
  };
  for (const [name, [parts, logs, want]] of Object.entries(cases)) {
    await t.step(name, () => assert.deepEqual(accountOf(parts, logs), { ...NOTHING, ...want }));
  }
});

Deno.test("bodyOf() is a push with unique values", () => {
  const body: unknown = JSON.parse(
    bodyOf({ digit: "3" }).replaceAll("{{number}}", "17").replace("{{percentage}}", "1"),
  );
  assert.deepEqual(body, {
    trainerStatus: {
      progressPercentage: 1,
      metrics: push("317"),
      lastUpdatedTime: "{{now}}",
    },
  });
});
