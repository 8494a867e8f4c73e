/** Tests of the annotation by which jobs of a search say what they are compared by. */
import assert from "node:assert/strict";
import { readObjective } from "../../crds/objective.ts";

const MESSAGE =
  'must be minimize or maximize, a space and the name of a metric, such as "minimize loss"';
const cases: Record<string, { metric: string; direction: string } | undefined> = {
  "minimize loss": { direction: "minimize", metric: "loss" },
  "maximize val/acc top 5": { direction: "maximize", metric: "val/acc top 5" },
  "maximize 学习率": { direction: "maximize", metric: "学习率" },
  "loss": undefined,
  "minimise loss": undefined,
  "minimize": undefined,
  "minimize ": undefined,
  "minimize  loss": undefined,
  "Minimize loss": undefined,
  '{"minimize":"loss"}': undefined,
  [`minimize ${"l".repeat(10_000)}`]: undefined,
};
for (const [text, want] of Object.entries(cases)) {
  Deno.test(`an objective of ${JSON.stringify(text.slice(0, 30))}`, () =>
    assert.deepEqual(
      readObjective(text),
      want === undefined
        ? { ok: false, problems: [{ field: "", message: MESSAGE }] }
        : { ok: true, value: want },
    ));
}
