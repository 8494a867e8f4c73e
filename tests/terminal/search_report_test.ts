/** Tests of reports of searches, and of following one until it ends. */
import assert from "node:assert/strict";
import type { ShownSearch, ShownTrial } from "../../crds/wire/searches.ts";
import { KubeError, TransportError } from "../../platform/kube/errors.ts";
import { followSearch } from "../../terminal/followed_search.ts";
import {
  changedTrials,
  searchReport,
  searchTable,
  trialLine,
} from "../../terminal/search_report.ts";
import { FakeClock } from "../support/fake_clock.ts";

const at = (minute: number) => new Date(Date.UTC(2026, 0, 31, 12, minute)).toISOString();
const LOOK = { characters: "unicode", colours: false, nowMs: Date.parse(at(30)) } as const;

const trialOf = (index: number, more: Partial<ShownTrial> = {}): ShownTrial => ({
  name: `digits-${index}`,
  state: "Complete",
  created: at(index),
  ended: at(index + 2),
  values: [`0.0${index}`],
  value: index,
  metrics: [],
  ...more,
});
const searchOf = (
  trials: readonly ShownTrial[],
  more: Partial<ShownSearch> = {},
): ShownSearch => ({
  kind: "optimizationjobs.trainer.kubeflow.org",
  namespace: "ml",
  name: "digits",
  state: "Running",
  created: at(0),
  notes: [{ name: "Algorithm", text: "random (seed 7)" }, { name: "Bounds", text: "2 at once" }],
  objective: { metric: "loss", direction: "minimize" },
  metrics: ["loss"],
  parameters: [{ name: "lr", scale: "log" }],
  trials,
  counts: { total: trials.length, states: [["Complete", trials.length]] },
  best: "digits-1",
  bestSoFar: [],
  stops: [],
  ...more,
});

const PRUNED = {
  state: "EarlyStopped",
  stop: { by: "pruner", text: "Pruned: loss 3 at step 1" },
} as const;

Deno.test("a report says how far a search is, its best, and each trial with its values and why it ended", () => {
  const search = searchOf([
    trialOf(1),
    trialOf(2, PRUNED),
    trialOf(3, { state: "Failed", value: undefined, message: "node-0 exited \x1b[2J 1" }),
    trialOf(4, { state: "Running", ended: undefined, values: [null] }),
    trialOf(5, { state: "EarlyStopped", stop: { by: "request", text: "Enough", user: "ada" } }),
  ], { message: "2 trials run", denied: ["configmaps"], isCut: true });
  assert.deepEqual(searchReport("OptimizationJob", search, { ...LOOK, columns: 90 }), [
    "OptimizationJob ml/digits  Running  created 30m ago",
    "2 trials run",
    "minimize loss  best 1: digits-1  lr 0.01",
    "5 trials: 5 Complete",
    "algorithm: random (seed 7); bounds: 2 at once",
    "",
    "  TRIAL     STATE         loss  lr    TOOK  WHY",
    "* digits-1  Complete      1     0.01  2m",
    "  digits-2  EarlyStopped  -     0.02  2m    Pruned: loss 3 at step 1",
    "  digits-3  Failed        -     0.03  2m    node-0 exited \\u001b[2J 1",
    "  digits-4  Running       4     -     26m",
    "  digits-5  EarlyStopped  5     0.05  2m    ada: Enough",
    "Not shown: the user may not read configmaps in ml.",
    "Not shown: some of its trials, because there are too many.",
  ]);
});

Deno.test("choices are written as they are, and who stopped a trial is named once", () => {
  const stop = { by: "request", text: "StoppedByUser: asked for by ada", user: "ada" } as const;
  const search = searchOf([trialOf(1, { values: ["1.10", "0.0123456"], stop })], {
    parameters: [{ name: "version", scale: "list" }, { name: "lr", scale: "log" }],
  });
  const lines = searchReport("X", search, { ...LOOK, columns: 90 });
  assert.equal(lines[1], "minimize loss  best 1: digits-1  version 1.10  lr 0.012346");
  assert.equal(
    lines.at(-1),
    "* digits-1  Complete  1     1.10     0.012346  2m    StoppedByUser: asked for by ada",
  );
});

Deno.test("where there is no room for all trials there are the best, those that run, and the newest", () => {
  const trials = [1, 2, 3, 4, 5, 6].map((index) =>
    trialOf(index, index === 2 ? { state: "Running" } : {})
  );
  const lines = searchReport("X", searchOf(trials), { ...LOOK, columns: 80, trials: 4 });
  assert.deepEqual(lines.slice(6).map((it) => it.slice(0, 12).trim()), [
    "* digits-1",
    "digits-2",
    "digits-5",
    "digits-6",
    "and 2 more",
  ]);
});

Deno.test("a search without trials and without an objective is a report all the same", () => {
  const { objective: _, best: _best, ...search } = searchOf([], { state: "Created", notes: [] });
  assert.deepEqual(searchReport("X", search, { ...LOOK, columns: 80 }), [
    "X ml/digits  Created  created 30m ago",
    "0 trials: 0 Complete",
  ]);
});

Deno.test("a list of searches says what is not known of one that is only a label", () => {
  const row = { kind: "k", namespace: "ml", name: "rates", counts: { total: 1, states: [] } };
  assert.deepEqual(searchTable([row], { ...LOOK, namespaced: true }), [
    "NAMESPACE  SEARCH  STATE  TRIALS   OBJECTIVE  BEST  AGE",
    "ml         rates   -      1 trial  -          -     -",
  ]);
});

Deno.test("a trial is told anew when its state is another, and when it is about to be stopped", () => {
  const { ended: _, ...running } = trialOf(2, { state: "Running" });
  const before = searchOf([trialOf(1), running]);
  const linesOf = (before: ShownSearch | undefined, search: ShownSearch) =>
    changedTrials(before, search).map((it) => trialLine(search, it));
  assert.deepEqual(linesOf(undefined, before), [
    "digits-1  Complete  loss 1  lr 0.01  the best so far",
    "digits-2  Running  loss 2  lr 0.02",
  ]);
  assert.deepEqual(linesOf(before, searchOf([trialOf(1), { ...running, value: 1.5 }])), []);
  const stopping = { ...running, stop: PRUNED.stop };
  assert.deepEqual(linesOf(before, searchOf([trialOf(1), stopping])), [
    "digits-2  Running  lr 0.02  Pruned: loss 3 at step 1",
  ]);
});

type Read = ShownSearch | undefined | Error;
/** Follows a search that is read so, one after the other; the last reading stays. */
async function follow(readings: readonly Read[], rows?: number) {
  const clock = new FakeClock(Date.parse(at(30)));
  const over = new AbortController();
  let [printed, warned, reads, isOver] = ["", new Array<string>(), 0, false];
  const following = followSearch({
    read: () => {
      const reading = readings[Math.min(reads++, readings.length - 1)];
      return reading instanceof Error ? Promise.reject(reading) : Promise.resolve(reading);
    },
    kind: "OptimizationJob",
    print: (text) => printed += text,
    warn: (text) => warned.push(text),
    look: LOOK,
    size: rows === undefined ? undefined : () => ({ columns: 60, rows }),
    clock,
    signal: over.signal,
  }).finally(() => isOver = true);
  const outcome = following.then(({ state }) => state, (error) => String(error));
  while (!isOver && reads <= readings.length) await clock.advance(500);
  if (!isOver) over.abort();
  await clock.advance(1_000);
  return { outcome: await outcome, printed, warned, reads };
}

Deno.test("a search is followed until it ends, in a pipe by a line for each change", async () => {
  const running = searchOf([trialOf(1, { state: "Running" })]);
  const complete = searchOf([trialOf(1)], { state: "Complete" });
  const { outcome, printed, reads } = await follow([running, running, complete]);
  assert.equal(outcome, "Complete");
  assert.equal(reads, 3);
  assert.equal(
    printed,
    "digits-1  Running  loss 1  lr 0.01  the best so far\n" +
      "digits-1  Complete  loss 1  lr 0.01  the best so far\n",
  );
});

Deno.test("at a terminal it is drawn over, and is never longer than that", async () => {
  const trials = Array.from({ length: 30 }, (_, index) => trialOf(index));
  const { printed } = await follow([searchOf(trials), searchOf(trials, { state: "Failed" })], 14);
  const [before, first = "", second = ""] = printed.split("\x1b[J");
  assert.equal(before, "");
  assert.ok(second.includes("Failed"));
  for (const drawn of [first, second]) assert.ok(drawn.split("\n").length <= 14, drawn);
  for (const line of printed.split("\n")) assert.ok(line.length <= 60 + 10, line);
});

Deno.test("what hinders reading for a while is told once, and it goes on", async () => {
  const away = new TransportError("connection refused");
  const { outcome, warned } = await follow([away, away, searchOf([], { state: "Complete" })]);
  assert.equal(outcome, "Complete");
  assert.deepEqual(warned, ["cannot be read now, it is tried again: connection refused"]);
});

const ends: Record<string, { readings: readonly Read[]; want: RegExp }> = {
  "is gone": { readings: [searchOf([]), undefined], want: /was deleted while it was followed/ },
  "may not be read any more": {
    readings: [new KubeError("no", { code: 403, reason: "Forbidden" })],
    want: /no/,
  },
  "goes on when its reader leaves": { readings: [searchOf([])], want: /Abort/ },
};
for (const [name, { readings, want }] of Object.entries(ends)) {
  Deno.test(`following ends with an error where the search ${name}`, async () => {
    assert.match(String((await follow(readings)).outcome), want);
  });
}
