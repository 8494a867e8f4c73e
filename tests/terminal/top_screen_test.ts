/** Tests of the screen of `top`, and of what keys do to it. */
import assert from "node:assert/strict";
import { columnsOf } from "../../terminal/shown_text.ts";
import { topScreen, type TopView } from "../../terminal/top_screen.ts";
import {
  type Change,
  FIRST_STATE,
  press,
  queryOf,
  type TopState,
} from "../../terminal/top_state.ts";
import { isOpenState } from "../../crds/names.ts";
import type { JobRow } from "../../crds/wire/row.ts";
import { windowOf } from "../views/list/window_of_rows.ts";

const NOW = Date.parse("2026-11-23T22:00:00Z");

function rowOf(name: string, more: Partial<JobRow> = {}): JobRow {
  return {
    uid: `uid-${name}`,
    kind: "trainjobs.trainer.kubeflow.org",
    namespace: "team-a",
    name,
    state: "Running",
    created: "2026-11-23T21:50:30Z",
    ...more,
  };
}

const MNIST = rowOf("mnist", {
  progress: 46,
  remainingSeconds: 83,
  metrics: [{ name: "loss", value: "0.22312345" }, { name: "\x1b[2J", value: "1" }],
});

const LOOK = { characters: "unicode", colours: false, nowMs: NOW, namespaced: false } as const;

function screenOf(
  rows: readonly JobRow[],
  [columns, lines]: readonly [number, number],
  { state = FIRST_STATE, ...more }: Partial<TopView> & { readonly state?: TopState } = {},
): string[] {
  const query = queryOf(state, []);
  const view = {
    window: windowOf(rows, query),
    where: "team-a",
    isThere: true,
    missing: [],
    ...more,
  };
  return topScreen(view, state, { ...LOOK, size: { columns, rows: lines } });
}

Deno.test("the screen has a head, rows with bars, and the keys", () => {
  const rows = [MNIST, rowOf("x", { state: "Failed" })];
  const lines = screenOf(rows, [80, 6], { chosen: MNIST });
  assert.deepEqual(lines.map((line) => line.trimEnd()), [
    "team-a  by created  2 jobs: 1 Running, 1 Failed",
    "  NAME      STATE         PROGRESS           ETA  METRICS",
    "> mnist     Running       ████░░░░  46 %     83s  loss 0.22312  \\u001b[2J 1",
    "  x         Failed",
    "",
    "Enter job  l logs  d reasons  s suspend  x stop  / filter  o sort  ? help  q end",
  ]);
});

const SIZES = [[1, 1], [5, 2], [20, 24], [20, 3], [80, 24], [200, 60]] as const;

for (const size of SIZES) {
  Deno.test(`a screen of ${size.join(" × ")} is filled and not overrun, whatever it shows`, () => {
    const rows = [
      MNIST,
      rowOf("任务".repeat(40), { metrics: [{ name: "👍".repeat(30), value: "1e-300" }] }),
      rowOf("n".repeat(250), { state: "EarlyStopped", kind: "pytorchjobs.kubeflow.org" }),
    ];
    const modes = [
      "list",
      "filter",
      "job",
      "reasons",
      "yaml",
      "logs",
      "stop",
      "suspend",
      "restart",
      "help",
    ] as const;
    const stateIn = (mode: typeof modes[number]): TopState => {
      const begin = { ...FIRST_STATE, job: MNIST, filter: "\x1b[31m任务" };
      if (mode === "help") return { ...begin, over: mode };
      return mode === "stop" || mode === "suspend" || mode === "restart"
        ? { ...begin, over: { change: mode, job: MNIST } }
        : { ...begin, mode };
    };
    for (const mode of modes) {
      const state = stateIn(mode);
      const report = ["任".repeat(300), "\\u001b"];
      const lines = screenOf(rows, size, { state, report, missing: ["no manager ".repeat(30)] });
      assert.equal(lines.length, Math.min(size[1], lines.length));
      assert.ok(lines.length <= size[1]);
      for (const line of lines) {
        assert.ok(columnsOf(line) <= size[0], `${mode}: ${line}`);
        // deno-lint-ignore no-control-regex
        assert.doesNotMatch(line, /[\x00-\x1f\x7f-\x9f]/);
      }
    }
  });
}

Deno.test("with ASCII alone nothing else is drawn, in whatever width", () => {
  const rows = [
    rowOf("n".repeat(250), { progress: 46, metrics: [{ name: "l".repeat(90), value: "1" }] }),
  ];
  const view = {
    window: windowOf(rows, queryOf(FIRST_STATE, [])),
    where: "a",
    isThere: true,
    missing: [],
  };
  for (let columns = 1; columns <= 120; columns++) {
    const look = {
      ...LOOK,
      characters: "ascii",
      namespaced: true,
      size: { columns, rows: 9 },
    } as const;
    for (const line of topScreen(view, FIRST_STATE, look)) assert.match(line, /^[ -~]*$/);
  }
});

Deno.test("what is missing, what came of a stop, and a question stand in the last line", () => {
  const last = (more: Parameters<typeof screenOf>[2]) => screenOf([MNIST], [80, 5], more).at(-1);
  assert.equal(last({ missing: ["no token", "more"] }), "? Not shown (and 1 more): no token");
  assert.equal(last({ missing: ["no token"], notice: "It was told." }), "It was told.");
  const asked = (mode: Change) =>
    last({ state: { ...FIRST_STATE, over: { change: mode, job: MNIST } } });
  assert.equal(asked("stop"), "Stop team-a/mnist? y: yes, any other key: no");
  assert.equal(
    asked("restart"),
    "Restart team-a/mnist? y: yes, any other key: no (unsaved work is lost)",
  );
  assert.equal(
    asked("suspend"),
    "Suspend team-a/mnist? y: yes, any other key: no (its pods go)",
  );
  assert.equal(asked("resume"), "Resume team-a/mnist? y: yes, any other key: no");
});

Deno.test("the help has all its words, however narrow the screen is", () => {
  const state = { ...FIRST_STATE, over: "help" } as const;
  for (const columns of [40, 80, 200]) {
    const lines = screenOf([], [columns, 60], { state });
    assert.ok(lines.every((line) => columnsOf(line) <= columns && !line.includes("…")));
    const words = lines.map((line) => line.slice(28).trim()).join(" ");
    assert.ok(words.includes("created, name, state, progress, remaining, updated"), words);
  }
});

Deno.test("a reason takes the room of measures that say nothing, and leaves the others'", () => {
  const message = "node-0 exited 1: ModuleNotFoundError: No module named 'tochr'";
  const failed = rowOf("a", { state: "Failed", message });
  const lines = screenOf([failed, { ...failed, progress: 40 }, MNIST], [80, 8]).map((it) =>
    it.trimEnd()
  );
  assert.deepEqual(lines.slice(2, 4), [
    "> a         Failed        node-0 exited 1: ModuleNotFoundError: No module named…",
    "  a         Failed        ███░░░░░  40 %          node-0 exited 1: ModuleNotFou…",
  ]);
});

const OFFERED: Readonly<Record<string, readonly [state: JobRow["state"], keys: RegExp]>> = {
  "that runs can be suspended and stopped": ["Running", / {2}s suspend {2}x stop {2}/],
  "that is suspended can go on": ["Suspended", / {2}s resume {2}x stop {2}/],
  "that is complete can be looked at": [
    "Complete",
    /^(?!.*(suspend|resume|stop)).* {2}Ctrl-D delete {2}/,
  ],
  "that has failed can be looked at": [
    "Failed",
    /^(?!.*(suspend|resume|stop)).* {2}Ctrl-D delete {2}/,
  ],
  "that was stopped can be looked at": [
    "EarlyStopped",
    /^(?!.*(suspend|resume|stop)).* {2}Ctrl-D delete {2}/,
  ],
};
for (const [what, [state, keys]] of Object.entries(OFFERED)) {
  Deno.test(`the last line offers what can be done: a job ${what}`, () => {
    const chosen = rowOf("x", { state });
    for (const mode of ["list", "job", "reasons", "yaml", "logs"] as const) {
      const shown = { ...FIRST_STATE, mode, job: chosen };
      assert.match(screenOf([chosen], [90, 5], { chosen, state: shown }).at(-1) ?? "", keys, mode);
    }
    const { act } = after(["x", "y"], FIRST_STATE, [chosen]);
    assert.equal(act?.kind, isOpenState(state) ? "stop" : undefined);
  });
}

Deno.test("the head of a log says whose it is", () => {
  const headOf = (isPrevious: boolean) => {
    const state = { ...FIRST_STATE, mode: "logs", job: MNIST, isPrevious } as const;
    return screenOf([MNIST], [80, 5], { state, report: ["a"] })[0]?.trimEnd();
  };
  assert.equal(headOf(false), "team-a/mnist  Running  log");
  assert.equal(headOf(true), "team-a/mnist  Running  log before the last restart");
});

Deno.test("an empty list says whether it was read", () => {
  assert.ok(screenOf([], [40, 6]).includes("No jobs in team-a"));
  const state = { ...FIRST_STATE, filter: "x" };
  assert.ok(screenOf([], [40, 6], { state }).includes("No jobs match this filter; Esc shows all"));
  assert.ok(screenOf([], [40, 6], { isThere: false }).includes("Reading the jobs ..."));
});

const ALL = Array.from(
  { length: 10_000 },
  (_, index) => rowOf(`job-${String(index).padStart(4, "0")}`),
);

/** The state after keys over these jobs, with 20 rows on the screen and a report of 100 lines. */
function after(keys: readonly string[], begin: TopState = FIRST_STATE, rows = ALL) {
  let state = begin;
  let act;
  for (const key of keys) {
    const { rows: jobs } = windowOf(rows, queryOf(state, []));
    ({ state, act } = press(state, key, { jobs, rows: 20, lines: 100 }));
  }
  return { state, act };
}

const KEYS: Readonly<Record<string, readonly [keys: readonly string[], want: Partial<TopState>]>> =
  {
    "the cursor stays in the list": [["up", "up"], { at: 0, first: 0 }],
    "the screen follows the cursor": [["down", "page down"], { at: 21, first: 2 }],
    "the end of ten thousand": [["end"], { at: 9999, first: 9980 }],
    "and back": [["end", "home"], { at: 0, first: 0 }],
    "the keys of vi": [["G", "g", "ctrl-f", "j", "ctrl-b", "k", "j", "j"], { at: 2, first: 0 }],
    "the object": [["enter", "y", "ctrl-f"], { mode: "yaml", scrolled: 20, isAtEnd: false }],
    "a deletion that was not meant": [["ctrl-d", "n"], { mode: "list" }],
    "the next order": [["o"], { sort: "name", isReversed: false }],
    "the order turned round": [["r"], { isReversed: true }],
    "a filter": [["/", "4", "2", "enter"], { filter: "42", mode: "list", at: 0 }],
    "a filter that is taken back": [["/", "任", "backspace", "escape"], {
      filter: "",
      mode: "list",
    }],
    "keys are text while a filter is written": [["/", "q"], { filter: "q", mode: "filter" }],
    "help, and back by any key": [["?", "x"], { mode: "list" }],
    "help beside a job, and back to it": [["enter", "?", "x"], { mode: "job" }],
    "a stop that was not meant": [["x", "n"], { mode: "list" }],
    "a stop of the job on the screen that was not meant": [["enter", "x", "n"], { mode: "job" }],
    "a report ends on the last row of the screen": [["enter", "end"], { scrolled: 79 }],
    "and goes back from there at once": [["enter", "end", "up"], { scrolled: 78 }],
    "a suspension that was not meant": [["s", "n"], { mode: "list" }],
    "a log, which follows its end": [["l"], { mode: "logs", isAtEnd: true, isPrevious: false }],
    "a log that is read from above": [["l", "home"], { mode: "logs", isAtEnd: false, scrolled: 0 }],
    "a log that was read, and follows again": [["l", "home", "end"], {
      isAtEnd: true,
      scrolled: 79,
    }],
    "the log of before": [["l", "p"], { mode: "logs", isPrevious: true, isAtEnd: true }],
    "the log of before, and the present one": [["l", "p", "p"], {
      mode: "logs",
      isPrevious: false,
    }],
    "the reasons": [["d"], { mode: "reasons", scrolled: 0, isAtEnd: false }],
    "reasons from the list, and back to it": [["d", "escape"], { mode: "list" }],
    "a log from a job, and back to it": [["enter", "l", "escape"], { mode: "job" }],
    "reasons after a log from a job": [["enter", "l", "d", "escape"], { mode: "job" }],
    "a log that is left for its job, and that for the list": [["l", "enter", "q"], {
      mode: "list",
    }],
    "a question beside a log, and back to it": [["l", "x", "n"], { mode: "logs" }],
    "a job that is left": [["enter", "down", "escape"], { mode: "list", scrolled: 0 }],
  };

for (const [what, [keys, want]] of Object.entries(KEYS)) {
  Deno.test(`keys of top: ${what}`, () => {
    const { state, act } = after(keys);
    assert.partialDeepStrictEqual(state, want);
    assert.equal(act, undefined);
  });
}

Deno.test("help and questions stand over what is shown, until the next key", () => {
  for (const begin of [[], ["enter"], ["l"]]) {
    const { mode } = after(begin).state;
    assert.partialDeepStrictEqual(after([...begin, "?"]).state, { mode, over: "help" });
    assert.partialDeepStrictEqual(after([...begin, "x"]).state, { over: { change: "stop" } });
    for (const over of ["?", "x", "s"]) {
      const { state } = after([...begin, over, "n"]);
      assert.deepEqual([state.mode, state.over], [mode, undefined]);
    }
  }
});

Deno.test("the cursor stays on its job, wherever its row goes, and where that was when it is gone", () => {
  const { state } = after(["o", "down", "down"]);
  assert.partialDeepStrictEqual(state, { at: 2, uid: "uid-job-0002" });
  const more = [...Array.from({ length: 30 }, (_, index) => rowOf(`a-${index}`)), ...ALL];
  const { act, state: moved } = after(["x", "y"], state, more);
  assert.ok(act?.kind === "stop");
  assert.equal(act.job.uid, "uid-job-0002");
  assert.partialDeepStrictEqual(moved, { at: 32, first: 13 });
  const rest = ALL.filter(({ uid }) => uid !== "uid-job-0002");
  assert.partialDeepStrictEqual(after(["x"], state, rest).state, { at: 2, uid: "uid-job-0003" });
  assert.partialDeepStrictEqual(after(["x"], state, []).state, { at: 0, mode: "list" });
});

Deno.test("the cursor stays on its job in another order, and under a filter that has it", () => {
  const begin = after(["o", "down", "down"]).state;
  const keys = [["r"], ["o"], ["/", "0", "0", "0", "2"], ["home", "down", "down", "r"]];
  for (const typed of keys) {
    const { state } = after([...typed, "right"], begin);
    assert.equal(state.uid, "uid-job-0002", typed.join());
    assert.equal(windowOf(ALL, queryOf(state, [])).rows[state.at]?.name, "job-0002");
  }
});

Deno.test("a job on the first row keeps the cursor when others come above it", () => {
  const { state } = after(["right"], FIRST_STATE, [rowOf("mnist")]);
  const newer = rowOf("newer", { created: "2026-11-23T21:59:30Z" });
  assert.partialDeepStrictEqual(after(["right"], state, [newer, rowOf("mnist")]).state, {
    at: 1,
    uid: "uid-mnist",
  });
});

Deno.test("y stops the job under the cursor, as it was seen", () => {
  const { act } = after(["o", "down", "x", "y"]);
  assert.ok(act?.kind === "stop");
  assert.equal(act.job.uid, "uid-job-0001");
  assert.equal(after(["o", "enter", "x", "y"]).act?.kind, "stop");
});

Deno.test("R restarts a job that runs, after a question, unless that is under way or it stops", () => {
  const asked = after(["enter", "R"]).state;
  assert.partialDeepStrictEqual(asked, { over: { change: "restart" } });
  assert.equal(after(["R", "y"]).act?.kind, "restart");
  assert.equal(after(["R", "n"]).act, undefined);
  assert.equal(after(["r", "y"]).act, undefined);
  const others = [
    { state: "Suspended" },
    { state: "Created" },
    { state: "Failed" },
    { state: "Running", stopsBy: "2026-01-01T00:00:00Z" },
    { state: "Running", restartingSince: "2026-01-01T00:00:00Z" },
  ] as const;
  for (const more of others) {
    assert.equal(after(["R", "y"], FIRST_STATE, [rowOf("x", more)]).act, undefined);
  }
});

Deno.test("the last line offers to restart a job that is stalled", () => {
  const stalled = rowOf("x", { state: "Running", stalledSince: "2026-01-01T00:00:00Z" });
  const [runs, hangs] = [rowOf("x"), stalled].map((chosen) =>
    screenOf([chosen], [90, 5], { chosen }).at(-1) ?? ""
  );
  assert.match(runs ?? "", / {2}s suspend {2}x stop {2}/);
  assert.match(hangs ?? "", / {2}R restart {2}x stop {2}/);
});

Deno.test("s suspends a job that runs, and lets one go on that is suspended", () => {
  assert.equal(after(["s", "y"]).act?.kind, "suspend");
  assert.equal(after(["l", "s", "y"]).act?.kind, "suspend");
  const rows = [rowOf("x", { state: "Suspended" })];
  assert.equal(after(["enter", "s", "y"], FIRST_STATE, rows).act?.kind, "resume");
});

Deno.test("Ctrl-D deletes a job, also one that has ended, and shows the list", () => {
  for (const keys of [["ctrl-d"], ["enter", "ctrl-d"]]) {
    const { act, state } = after([...keys, "y"], FIRST_STATE, [rowOf("x", { state: "Failed" })]);
    assert.deepEqual([act?.kind, state.mode, state.job], ["delete", "list", undefined]);
  }
});

Deno.test("of a key that does nothing it is known", () => {
  const window = { jobs: [rowOf("x", { state: "Failed" })], rows: 20, lines: 100 };
  const inLog = after(["l"]).state;
  for (const [state, key] of [[FIRST_STATE, ":"], [FIRST_STATE, "x"], [inLog, "o"]] as const) {
    assert.equal(press(state, key, window).isUnknown, true, key);
  }
  for (const key of ["down", "escape", "o", "enter", "y"]) {
    assert.equal(press(FIRST_STATE, key, window).isUnknown, undefined, key);
  }
});

Deno.test("what may be done follows the job as it is now, and not as it was when it was looked at", () => {
  const { state } = after(["enter"], FIRST_STATE, [MNIST]);
  const ended = [{ ...MNIST, state: "Complete" } as const];
  assert.equal(after(["x", "y"], state, ended).act, undefined);
});

Deno.test("q and Ctrl-C end it; Ctrl-C everywhere", () => {
  assert.equal(after(["q"]).act?.kind, "quit");
  for (const keys of [["/"], ["enter"], ["x"], ["?"]]) {
    assert.equal(after([...keys, "interrupt"]).act?.kind, "quit");
  }
});
