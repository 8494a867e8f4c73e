/** Tests of the configuration of a job, as it is shown and compared. */
import assert from "node:assert/strict";
import { settingsOf } from "../../crds/job_configuration.ts";
import type { Setting } from "../../crds/wire/row.ts";

const env = [
  { name: "LR", value: "0.1" },
  { name: "TOKEN", valueFrom: { secretKeyRef: { name: "hub", key: "token" } } },
  { name: "EMPTY" },
];
const VARIABLES = [["LR", "0.1"], ["TOKEN", "(from elsewhere)"], ["EMPTY", ""]] as const;

const CASES: Readonly<Record<string, readonly [spec: unknown, want: readonly Setting[]]>> = {
  "a TrainJob, with the options of its command each for itself": [
    {
      runtimeRef: { name: "torch" },
      trainer: {
        numNodes: 2,
        command: [
          "python",
          "it's a try.py",
          "--lr",
          "0.1",
          "--fast",
          "--batch-size=32",
          "model.depth=4",
        ],
        args: ["-c", "x = 1; y=2", "--epochs"],
        env,
      },
    },
    [
      ["Runtime", "torch"],
      ["Nodes", "2"],
      ["Command", String.raw`python 'it'\''s a try.py'`],
      ["lr", "0.1"],
      ["fast", "yes"],
      ["batch-size", "32"],
      ["model.depth", "4"],
      ["c", "x = 1; y=2"],
      ["epochs", "yes"],
      ...VARIABLES,
    ],
  ],
  "a TrainJob that changes nothing of its runtime": [
    { runtimeRef: { name: "torch" } },
    [["Runtime", "torch"]],
  ],
  "a job with one replica type": [
    { pytorchReplicaSpecs: { Master: { template: { spec: { containers: [{ env }] } } } } },
    VARIABLES,
  ],
  "a job with replica types": [
    {
      pytorchReplicaSpecs: {
        Master: { template: { spec: { containers: [{ image: "train:1", env }] } } },
        Worker: { replicas: 3, template: { spec: { containers: [{ command: ["python"] }] } } },
      },
    },
    [
      ["Master Image", "train:1"],
      ...VARIABLES.map(([name, text]) => [`Master ${name}`, text] as const),
      ["Worker Replicas", "3"],
      ["Worker Command", "python"],
    ],
  ],
  "a program in a command": [
    { runtimeRef: { name: "plain" }, trainer: { command: ["x".repeat(2_000)] } },
    [["Runtime", "plain"], ["Command", `${"x".repeat(1_000)}… (the whole is in YAML)`]],
  ],
  "nothing that it knows": [{ replicas: 3, fooReplicaSpecs: 7, trainer: null }, []],
  "no object": [undefined, []],
};

/** Commands, with their options and the rest. */
const COMMANDS: Readonly<Record<string, readonly [rest: string, options: readonly Setting[]]>> = {
  "python train.py --hidden 512 256 -b 256 --lr 0.1": ["python train.py", [
    ["hidden", "512 256"],
    ["b", "256"],
    ["lr", "0.1"],
  ]],
  "python train.py --amp -b 32 --offset -3 -.5 -lr 1e-3 -v": ["python train.py", [
    ["amp", "yes"],
    ["b", "32"],
    ["offset", "-3 -.5"],
    ["lr", "1e-3"],
    ["v", "yes"],
  ]],
  "train +opt=adam ++lr=0.1 --set a=1 depth=4": ["train", [
    ["opt", "adam"],
    ["lr", "0.1"],
    ["set", "a=1"],
    ["depth", "4"],
  ]],
  "torchrun --nproc-per-node 2 train.py --config conf.py": ["torchrun train.py", [
    ["nproc-per-node", "2"],
    ["config", "conf.py"],
  ]],
  "torchrun --nproc-per-node 2 -m train -m 0.9": ["torchrun -m train", [
    ["nproc-per-node", "2"],
    ["m", "0.9"],
  ]],
  "python -u -X dev train.py -c conf.yaml": ["python -u -X dev train.py", [["c", "conf.yaml"]]],
  "bash -euc run -b 1": ["bash -euc run", [["b", "1"]]],
  "accelerate launch --fp16 -- train.py -b 1": ["accelerate launch -- train.py", [
    ["fp16", "yes"],
    ["b", "1"],
  ]],
  "-b 1": ["", [["b", "1"]]],
};

for (const [text, [rest, options]] of Object.entries(COMMANDS)) {
  Deno.test(`options of the command: ${text}`, () => {
    const settings = settingsOf({
      spec: { runtimeRef: { name: "torch" }, trainer: { command: text.split(" ") } },
    });
    const command = rest === "" ? [] : [["Command", rest]];
    assert.deepEqual(settings, [["Runtime", "torch"], ...command, ...options]);
  });
}

for (const [name, [spec, want]] of Object.entries(CASES)) {
  Deno.test(`a job's configuration: ${name}`, () => {
    assert.deepEqual(settingsOf(spec && { spec }), want);
  });
}
