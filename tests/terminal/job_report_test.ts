/** Tests of the report of a job: sentences are whole, and no line is too long. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { jobReport, reasonReport, yamlReport } from "../../terminal/job_report.ts";
import { columnsOf, wrapped } from "../../terminal/shown_text.ts";

const NOW = Date.parse("2026-11-23T22:00:00Z");
const FAILURE = "jobset failed due to one or more job failures (first failed job: failing-node-0)";
const FACTS = {
  object: {},
  kind: "TrainJob",
  row: {
    uid: "u1",
    kind: "trainjobs.trainer.kubeflow.org",
    namespace: "team-a",
    name: "mnist",
    state: "Failed",
    message: FAILURE,
    created: "2026-11-23T21:50:30Z",
  },
  wait: "2 of 4 pods wait for 8 nvidia.com/gpu; this machine has 2, and other pods use them",
  conditions: [
    { type: "Suspended", status: "False", reason: "TrainJobResumed", message: "Trainjob resumed" },
    {
      type: "Failed",
      status: "True",
      reason: "FailedJobs",
      message: `no \x1b[2J more${" words".repeat(20)}`,
      lastTransitionTime: "2026-11-23T21:59:50Z",
    },
  ],
  pods: [],
  events: [{
    object: "TrainJob/mnist",
    type: "Warning",
    reason: "FailedCreate",
    message: `pods "mnist-node-0-0" is forbidden: exceeded quota: gpus, requested: 8, used: 8`,
    count: 3,
    time: "2026-11-23T21:59:30Z",
  }],
  missing: ["the user may not list pods in team-a, so that nobody can say which ranks it has"],
} as const;

for (const columns of [20, 40, 80]) {
  Deno.test(`all sentences of a report are whole on ${columns} columns`, () => {
    const look = { characters: "unicode", colours: false, nowMs: NOW, plotRows: 6 } as const;
    const lines = jobReport(FACTS, { ...look, columns, events: 10 });
    for (const line of lines) assert.ok(columnsOf(line) <= columns, line);
    const text = lines.map((line) => line.trim()).join(" ");
    const sentences = [
      FAILURE,
      FACTS.wait,
      FACTS.events[0].message,
      `Not shown: ${FACTS.missing[0]}.`,
    ];
    // A word of more than a line is broken.
    const dense = (it: string) => it.replaceAll(" ", "");
    for (const it of sentences) assert.ok(dense(text).includes(dense(it)), `${it} in ${text}`);
    if (columns === 80) assert.match(text, /30s +Warning +FailedCreate +TrainJob\/mnist +3 times/);
  });
}

const ends: Record<string, { object: Record<string, unknown>; want: RegExp }> = {
  "since its start": {
    object: { status: { startTime: "2026-11-23T21:52:00Z" } },
    want: /Failed {2}took 5m {2}ended 3m ago/,
  },
  "since it was made, if it does not say when it started": {
    object: {},
    want: /Failed {2}took 6m30s {2}ended 3m ago/,
  },
};
for (const [since, { object, want }] of Object.entries(ends)) {
  Deno.test(`a job that has ended says how long it took ${since}`, () => {
    const look = { characters: "unicode", colours: false, nowMs: NOW, plotRows: 4 } as const;
    const row = { ...FACTS.row, ended: "2026-11-23T21:57:00Z" };
    for (const report of [jobReport, reasonReport]) {
      const [head = ""] = report({ ...FACTS, row, object }, { ...look, columns: 100, events: 1 });
      assert.match(head, want);
    }
  });
}

Deno.test("a job that is being stopped says why", () => {
  const look = { characters: "unicode", colours: false, nowMs: NOW, plotRows: 4 } as const;
  const { message: _, ...told } = FACTS.row;
  const row = { ...told, state: "Running", stopsBy: "2026-11-23T22:00:18Z" } as const;
  const stop = { reason: "Pruned", message: "asked for by alice", time: "2026-11-23T21:59:48Z" };
  const object = { status: { stop } };
  const [head = "", why] = jobReport({ ...FACTS, row, object }, {
    ...look,
    columns: 100,
    events: 1,
  });
  assert.match(head, /Running {2}stopping, 18s left {2}created/);
  assert.equal(why, "Pruned: asked for by alice");
});

Deno.test("a job that is started again and again says so, and what it said last", () => {
  const look = { characters: "unicode", colours: false, nowMs: NOW, plotRows: 4 } as const;
  const row = { ...FACTS.row, state: "Running", restarts: 4, progress: 40 } as const;
  const lastWords = "Traceback:\n  \x1b[2Jimport tochr\nModuleNotFoundError: No module";
  const lines = jobReport({ ...FACTS, row, lastWords }, { ...look, columns: 100, events: 1 });
  assert.match(lines[0] ?? "", /Running {2}restarting \(4×\) {2}created/);
  const from = lines.indexOf("Traceback:");
  assert.deepEqual(lines.slice(from - 1, from + 3), [
    "",
    "Traceback:",
    "  \\u001b[2Jimport tochr",
    "ModuleNotFoundError: No module",
  ]);
  const short = jobReport({ ...FACTS, row, lastWords: "a line" }, {
    ...look,
    columns: 100,
    events: 1,
  });
  assert.ok(!short.includes("a line"));
});

Deno.test("a report draws metrics, and neither progress nor step", () => {
  const look = { characters: "unicode", colours: false, nowMs: NOW, plotRows: 4 } as const;
  const points: [number, number, number, number][] = [[NOW - 9_000, 1, 1, 1], [NOW, 2, 2, 2]];
  const metrics = [
    { name: "loss", points },
    { name: "progress", isProgress: true, points },
    { name: "step", isStep: true, points },
    { name: "norm", points: [] },
    { name: "norm", isNonFinite: true, points },
  ];
  const facts = { ...FACTS, curves: { metrics, marks: [] } };
  const textOf = (values: { name: string; value: string }[]) => {
    const told = { ...facts, row: { ...FACTS.row, metrics: values } };
    return jobReport(told, { ...look, columns: 60, events: 1 }).join("\n");
  };
  const text = textOf([]);
  assert.match(text, /^loss {2}2$/m);
  assert.doesNotMatch(text, /progress|step/);
  // What is no number now is said, and is no number of the curve.
  const broken = textOf([{ name: "loss", value: "nan" }, { name: "norm", value: "NaN" }]);
  assert.match(broken, /^loss {2}NaN$/m);
  assert.match(broken, /^norm NaN$/m);
});

Deno.test("a job that is being stopped says in its title how long it has", () => {
  const look = { characters: "unicode", colours: false, nowMs: NOW, plotRows: 0 } as const;
  const row = { ...FACTS.row, state: "Running", stopsBy: "2026-11-23T22:00:18Z" } as const;
  const [title] = reasonReport({ ...FACTS, row }, { ...look, columns: 80, events: 100 });
  assert.match(title ?? "", /Running {2}stopping, 18s left {2}created/);
});

Deno.test("a pod that is gone and printed nothing says so", () => {
  const look = { characters: "unicode", colours: false, nowMs: NOW, plotRows: 0 } as const;
  const pod = { uid: "p1", name: "mnist-1", phase: "Running", restarts: 0, containers: ["node"] };
  const pods = [{ ...pod, deleting: true, gone: true, isSilent: true }];
  const lines = reasonReport({ ...FACTS, pods }, { ...look, columns: 80, events: 100 });
  assert.match(lines.join("\n"), /mnist-1 +Running, deleted, printed nothing/);
});

Deno.test("the reasons are conditions, the newest first, pods and events, with their whole messages", () => {
  const look = { characters: "unicode", colours: false, nowMs: NOW, plotRows: 0 } as const;
  const lines = reasonReport(FACTS, { ...look, columns: 80, events: 100 });
  for (const line of lines) assert.ok(columnsOf(line) <= 80, line);
  const at = (pattern: RegExp) => lines.findIndex((line) => pattern.test(line));
  const order = [
    /^TrainJob team-a\/mnist {2}Failed/,
    /^AGE +CONDITION +STATUS +REASON$/,
    /^10s +Failed +True +FailedJobs$/,
    /^ {6}no \\u001b\[2J more words/,
    /^- +Suspended +False +TrainJobResumed$/,
    /^AGE +EVENT +REASON +OBJECT$/,
    /^Not shown: /,
  ].map(at);
  assert.ok(!order.includes(-1), lines.join("\n"));
  assert.deepEqual(order.toSorted((a, b) => a - b), order);
});

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

Deno.test("wrapped() loses nothing but blanks, whatever the text", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 100 });
  fc.assert(fc.property(text, fc.integer({ min: 2, max: 30 }), (text, columns) => {
    const lines = wrapped(text, columns);
    assert.equal(lines.join("").replaceAll(" ", ""), text.replaceAll(" ", ""));
    // What a reader takes for one character is never broken, however wide it is.
    const isOne = (line: string) => [...graphemes.segment(line)].length === 1;
    for (const line of lines) assert.ok(columnsOf(line) <= columns || isOne(line), line);
  }));
});

Deno.test("of an object's text that is far to the right no line is too long, and there are not as many as characters", () => {
  const program = `if x:\n${" ".repeat(100)}${"train() ".repeat(50)}\n`;
  const lines = yamlReport({ object: { args: [program] } }, 40);
  assert.deepEqual(lines.filter((line) => columnsOf(line) > 40), []);
  assert.ok(lines.length < 40, `${lines.length}`);
});

Deno.test("an object is YAML of which no line is too long, and nothing steers the terminal", () => {
  const args = ["--steps", "one two three four five six", "\x1b[2J"];
  assert.deepEqual(yamlReport({ object: { spec: { args } } }, 24), [
    "spec:",
    "  args:",
    "    - --steps",
    "    - one two three four",
    "    five six",
    '    - "\\e[2J"',
    "",
  ]);
});

Deno.test("a table of a report is cut at a screen's edge, and whole where there is none", () => {
  const pod = { uid: "p1", name: `mnist-${"long-".repeat(20)}0-0`, phase: "Running", restarts: 4 };
  const look = { characters: "unicode", colours: false, nowMs: NOW, plotRows: 6 } as const;
  const facts = { ...FACTS, pods: [{ ...pod, containers: [], rank: "node-0", node: "n1" }] };
  const rowOf = (cutAt?: number) =>
    jobReport(facts, { ...look, columns: 80, cutAt, events: 1 })
      .find((line) => line.startsWith("node-0")) ?? "";
  assert.match(rowOf(), /…$/);
  assert.match(rowOf(Infinity), /0-0 +Running +n1 +4 /);
});

const costs: Record<string, { facts: object; want: RegExp | undefined }> = {
  "that has ended": {
    facts: { restarts: 2, row: { ...FACTS.row, ended: "2026-11-23T21:57:00Z" } },
    want: /^time: 3h2m productive, 4m starting, 12m stalled, 3m lost {2}restarts: 2$/m,
  },
  "that goes on, whose times are some minutes old": {
    facts: {},
    want: /^time: 3h2m productive, 4m starting, 12m stalled, 3m lost, up to 5m ago$/m,
  },
  "that has not begun": { facts: { timeSpent: undefined }, want: undefined },
};
for (const [which, { facts, want }] of Object.entries(costs)) {
  Deno.test(`a report says what the time of a job went to, of one ${which}`, () => {
    const look = { characters: "unicode", colours: false, nowMs: NOW, plotRows: 4 } as const;
    const timeSpent = {
      productiveSeconds: 10_920,
      startingSeconds: 240,
      stalledSeconds: 720,
      lostSeconds: 180,
      time: "2026-11-23T21:55:00Z",
    };
    const all = { ...FACTS, timeSpent, ...facts };
    const text = jobReport(all, { ...look, columns: 100, events: 1 }).join("\n");
    if (want === undefined) assert.doesNotMatch(text, /time:|restarts:/);
    else assert.match(text, want);
  });
}
