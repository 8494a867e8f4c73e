/** Tests of what a standalone says at its end. */
import assert from "node:assert/strict";
import { closingWords } from "../../../app/standalone/closing_words.ts";
import type { JobRow } from "../../../crds/wire/row.ts";

const row = (name: string, state: JobRow["state"]): JobRow => ({
  uid: name,
  kind: "trainjobs.trainer.kubeflow.org",
  namespace: "ml",
  name,
  state,
  created: "2026-01-01T00:00:00Z",
});
const FATE =
  "# at the next start they have failed, and their jobs go on if they may restart them\n";

type Case = readonly [rows: JobRow[] | undefined, dataDir: string | undefined, want: string];

const CASES: Readonly<Record<string, Case>> = {
  "of nothing that runs, in memory": [
    [row("a", "Complete"), row("b", "Suspended")],
    undefined,
    "# stopping: no job runs; nothing is kept, as there was no --data-dir\n",
  ],
  "of nothing that runs, in a folder": [
    [],
    "/data",
    "# stopping: no job runs; /data keeps jobs, curves and logs for the next start\n",
  ],
  "of a job that runs, in memory": [
    [row("a", "Running")],
    undefined,
    "# stopping: the pods of ml/a end with it; nothing is kept, as there was no --data-dir\n",
  ],
  "of jobs that nobody knows, in a folder": [
    undefined,
    "/data",
    "# stopping: which jobs run could not be read; their pods end with it; " +
    `/data keeps jobs, curves and logs for the next start\n${FATE}`,
  ],
  "of many, in a folder": [
    ["a", "b\x1b[2J", "c", "d", "e", "f", "g"].map((name) => row(name, "Running")),
    "/data",
    "# stopping: the pods of ml/a, ml/b\\u001b[2J, ml/c, ml/d, ml/e and 2 more end with it; " +
    `/data keeps jobs, curves and logs for the next start\n${FATE}`,
  ],
};
for (const [what, [rows, dataDir, want]] of Object.entries(CASES)) {
  Deno.test(`the last words of a standalone: ${what}`, () => {
    assert.equal(closingWords(rows, dataDir), want);
  });
}
