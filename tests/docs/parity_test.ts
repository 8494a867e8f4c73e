/** Test that docs/internals/parity.md lists the differences that the comparison allows. */
import assert from "node:assert/strict";
import { ALLOWED_JOBSET } from "../cluster/parity/allowed_jobset.ts";
import { ALLOWED_TRAINER } from "../cluster/parity/allowed_trainer.ts";
import { ALLOWED_V1 } from "../cluster/parity/v1/allowed.ts";
import type { Allowed } from "../cluster/parity/compare.ts";

const documentation = await Deno.readTextFile(
  new URL("../../docs/internals/parity.md", import.meta.url),
);

/** The rows of the table under a heading: first column to last. */
function rowsUnder(heading: string): string[] {
  const section = documentation.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return section.split("\n").filter((line) => /^\| `/.test(line));
}

const row = ({ id, why, byChance }: Allowed) =>
  `| \`${id}\` | ${why} | ${byChance ? "by chance" : "always"} |`;

const TABLES = {
  "Trainer": ALLOWED_TRAINER,
  "JobSet": ALLOWED_JOBSET,
  "Training Operator": ALLOWED_V1,
};

for (const [heading, allowed] of Object.entries(TABLES)) {
  Deno.test(`docs/internals/parity.md lists under ${heading} what the comparison allows, and nothing else`, () => {
    assert.deepEqual(rowsUnder(heading), allowed.map(row));
  });
}

Deno.test("every allowed difference has a unique id", () => {
  const ids = [...ALLOWED_TRAINER, ...ALLOWED_JOBSET, ...ALLOWED_V1].map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});
