/** Tests of a job's configuration as its page shows it. */
import assert from "node:assert/strict";
import { configurationOf, settingsOf } from "../../crds/job_configuration.ts";
import type { Configuration } from "../../crds/wire/shown_settings.ts";

const env = [
  { name: "LR", value: "0.1" },
  { name: "TOKEN", valueFrom: { secretKeyRef: { name: "hub", key: "token" } } },
  { name: "EMPTY" },
];
const VARIABLES = [["LR", "0.1"], ["TOKEN", "(from elsewhere)"], ["EMPTY", ""]] as const;

const CASES: Readonly<Record<string, readonly [spec: unknown, want: readonly Configuration[]]>> = {
  "a TrainJob": [
    {
      runtimeRef: { name: "torch" },
      trainer: {
        numNodes: 2,
        command: ["python", "train.py"],
        args: ["--name", "it's a try", "--files=*.csv"],
        env,
      },
    },
    [{
      role: "",
      facts: [
        ["Runtime", "torch"],
        ["Nodes", "2"],
        ["Command", String.raw`python train.py --name 'it'\''s a try' '--files=*.csv'`],
        ...VARIABLES,
      ],
    }],
  ],
  "a TrainJob that changes nothing of its runtime": [
    { runtimeRef: { name: "torch" } },
    [{ role: "", facts: [["Runtime", "torch"]] }],
  ],
  "a job with replica types": [
    {
      pytorchReplicaSpecs: {
        Master: { template: { spec: { containers: [{ image: "train:1", env }] } } },
        Worker: { replicas: 3, template: { spec: { containers: [{ command: ["python"] }] } } },
      },
    },
    [
      { role: "Master", facts: [["Image", "train:1"], ...VARIABLES] },
      { role: "Worker", facts: [["Replicas", "3"], ["Command", "python"]] },
    ],
  ],
  "a program in a command": [
    { runtimeRef: { name: "plain" }, trainer: { command: ["x".repeat(2_000)] } },
    [{
      role: "",
      facts: [["Runtime", "plain"], ["Command", `${"x".repeat(1_000)}… (the whole is in YAML)`]],
    }],
  ],
  "nothing that it knows": [{ replicas: 3, fooReplicaSpecs: 7, trainer: null }, []],
  "no object": [undefined, []],
};

for (const [name, [spec, want]] of Object.entries(CASES)) {
  Deno.test(`a job's configuration: ${name}`, () => {
    assert.deepEqual(configurationOf(spec && { spec }), want);
  });
}

Deno.test("the settings of a job have the options of its command each for itself", () => {
  const command = [
    "python",
    "train.py",
    "--lr",
    "0.1",
    "--fast",
    "--batch-size=32",
    "model.depth=4",
  ];
  const args = ["-c", "x = 1; y=2", "--epochs"];
  const trainer = { numNodes: 2, command, args, env };
  assert.deepEqual(settingsOf({ spec: { runtimeRef: { name: "torch" }, trainer } }), [
    ["Runtime", "torch"],
    ["Nodes", "2"],
    ["Command", "python train.py -c 'x = 1; y=2'"],
    ["lr", "0.1"],
    ["fast", "yes"],
    ["batch-size", "32"],
    ["model.depth", "4"],
    ["epochs", "yes"],
    ...VARIABLES,
  ]);
  const [spec] = CASES["a job with replica types"] ?? [];
  assert.deepEqual(settingsOf({ spec }), [
    ["Master Image", "train:1"],
    ...VARIABLES.map(([name, text]) => [`Master ${name}`, text]),
    ["Worker Replicas", "3"],
    ["Worker Command", "python"],
  ]);
});
