/** Tests of `milepost top` without a terminal: each change once, what is gone, and what is not shown. */
import assert from "node:assert/strict";
import { printChanges } from "../../terminal/printed_changes.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { JobRow } from "../../crds/wire/row.ts";
import { windowOf } from "../views/list/window_of_rows.ts";
import { FakeClock } from "../support/fake_clock.ts";

const rowOf = (name: string, progress: number): JobRow => ({
  uid: `uid-${name}`,
  kind: TRAINJOB.id,
  namespace: "ml",
  name,
  state: "Running",
  created: "2026-01-01T00:00:00Z",
  progress,
});

/** Prints while a test changes what there is. */
async function printed(json: boolean) {
  const clock = new FakeClock();
  const over = new AbortController();
  const lines: string[] = [];
  const warned: string[] = [];
  let [rows, missing, version]: [JobRow[], string[], number] = [[rowOf("a", 10)], [], 0];
  const done = printChanges({
    cluster: {
      namespaces: ["ml"],
      managerSearched: Promise.resolve(),
      isThere: () => true,
      missing: () => missing,
      list: {
        get version() {
          return version;
        },
        window: (query) => windowOf(rows, query),
      },
    },
    json,
    print: (text) => void lines.push(text.trimEnd()),
    warn: (text) => void warned.push(text),
    clock,
    signal: over.signal,
  });
  await clock.advance(0);
  return {
    lines,
    warned,
    async set(next: JobRow[], why: string[] = []) {
      [rows, missing, version] = [next, why, version + 1];
      await clock.advance(1_000);
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      await done;
    },
  };
}

Deno.test("each further tenth of progress is a line, and so is the end of a job that is deleted", async () => {
  await using it = await printed(false);
  await it.set([rowOf("a", 12), rowOf("b", 0)]);
  await it.set([rowOf("a", 20), rowOf("b", 0)]);
  await it.set([rowOf("b", 0)]);
  await it.set([rowOf("b", 0)]);
  assert.deepEqual(it.lines, [
    "ml/a  Running  10 %",
    "ml/b  Running  0 %",
    "ml/a  Running  20 %",
    "ml/a  deleted",
  ]);
});

Deno.test("as JSON each change is a line, and a job that is deleted is named by its uid", async () => {
  await using it = await printed(true);
  await it.set([rowOf("a", 12)]);
  await it.set([]);
  assert.deepEqual(it.lines.map((line) => JSON.parse(line)), [
    rowOf("a", 10),
    rowOf("a", 12),
    { uid: "uid-a", kind: TRAINJOB.id, namespace: "ml", name: "a", deleted: true },
  ]);
});

Deno.test("what is not shown is told once as long as it lasts, and again when it comes again", async () => {
  await using it = await printed(false);
  for (const why of [["x"], ["x", "y"], ["y"], [], ["y"]]) await it.set([], why);
  assert.deepEqual(it.warned, ["not shown: x", "not shown: y", "not shown: y"]);
});
