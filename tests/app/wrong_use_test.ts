/** Tests of wrong arguments: one clear line, exit code 2, never a stack trace. */
import assert from "node:assert/strict";
import { milepost } from "../support/milepost_process.ts";

const missing = "/nowhere/kubeconfig";

interface Case {
  args: string[];
  env?: Record<string, string>;
  want: RegExp;
}

const cases: Record<string, Case> = {
  "an unknown command": { args: ["dance"], want: /dance/ },
  "an unknown flag of manager": { args: ["manager", "--colour", "blue"], want: /--colour/ },
  "an unknown flag of standalone": { args: ["standalone", "--cluster"], want: /--cluster/ },
  "an argument too many": { args: ["version", "now"], want: /argument/ },
  "an unknown gate": {
    args: ["manager", "--kubeconfig", missing, "--feature-gates", "Warp=true"],
    want: /unknown feature gate "Warp"/,
  },
  "a gate from the environment": {
    args: ["manager", "--kubeconfig", missing],
    env: { MILEPOST_FEATURE_GATES: "Warp=true" },
    want: /unknown feature gate "Warp"/,
  },
  "a kubeconfig that is not there": {
    args: ["manager", "--kubeconfig", missing],
    want: /\/nowhere\/kubeconfig/,
  },
  "no kubeconfig outside a cluster": { args: ["manager"], want: /kubeconfig|cluster/ },
  "a config file that is not there": {
    args: ["manager", "--config", "/nowhere/milepost.yaml"],
    want: /\/nowhere\/milepost\.yaml/,
  },
  "a file of notifications that is not there": {
    args: ["manager", "--notifications", "/nowhere/sinks.yaml"],
    want: /--notifications \/nowhere\/sinks\.yaml cannot be read/m,
  },
  "an address that is told in the open": {
    args: ["standalone", "--notify", "http://hooks.example/x"],
    want: /--notify: the URL must begin with https:\/\/ [^x]*$/m,
  },
  "an unknown example": { args: ["example", "dance"], want: /no example "dance"; known: softmax/ },
  "no example": { args: ["example"], want: /name/ },
  "an invalid port": { args: ["standalone", "--port", "http"], want: /--port/ },
  "curves without a search": { args: ["demo", "--svg", "a.svg"], want: /--svg.*--search/ },
  "curves in a folder that is not there": {
    args: ["demo", "--search", "--svg", "/nowhere/a.svg"],
    want: /\/nowhere/,
  },
  "a node without a kubeconfig": { args: ["node"], want: /--kubeconfig/ },
  "an invalid port from the environment": {
    args: ["standalone"],
    env: { MILEPOST_STANDALONE_STATUS_PORT: "http" },
    want: /MILEPOST_STANDALONE_STATUS_PORT: must be a port/,
  },
  "a switch from the environment": {
    args: ["crds"],
    env: { MILEPOST_CRDS_TRIALS: "perhaps" },
    want: /MILEPOST_CRDS_TRIALS: must be true or false/,
  },
  "a file of jobs that is not there": {
    args: ["convert", "/nowhere.yaml"],
    want: /cannot read \/nowhere\.yaml/,
  },
  "no file of a search": { args: ["optimize"], want: /Which file/ },
  "a file of a search that is not there": {
    args: ["optimize", "/nowhere.yaml"],
    want: /cannot read \/nowhere\.yaml/,
  },
  "a file with no search": {
    args: ["optimize", "examples/trainjob.yaml"],
    want: /examples\/trainjob\.yaml is no OptimizationJob of trainer.*: kind: /,
  },
  "a patch of nothing": { args: ["crds", "--patch"], want: /--patch requires --v1/ },
  "definitions of two sorts": {
    args: ["crds", "--v1", "--trials"],
    want: /--v1 and --trials exclude each other/,
  },
  "a namespace that cannot be one": {
    args: ["ui", "--namespace", "team-a,Team_B"],
    want: /--namespace: must be at most 20 names of namespaces, not "Team_B"/,
  },
  "a kubeconfig for the page that is not there": {
    args: ["ui", "--kubeconfig", missing],
    want: /\/nowhere\/kubeconfig/,
  },
  "an unknown level of logs": { args: ["standalone", "--log-level", "loud"], want: /--log-level/ },
};

Deno.test("`milepost convert -` reads standard input", async () => {
  const { code, stderr } = await milepost(["convert", "-"], { stdin: "kind: Nothing\n" });
  const says = "milepost: each object must have apiVersion, kind and metadata.name\n";
  assert.deepEqual([code, stderr], [2, says]);
});

const NO_SEARCH = "is no OptimizationJob of trainer.kubeflow.org/v1alpha1";
const inputs: Record<string, { stdin: string; says: string }> = {
  "nothing": { stdin: "", says: `- ${NO_SEARCH}: it is empty` },
  "a list": { stdin: "[]", says: `- ${NO_SEARCH}: it is no object` },
  "two documents": {
    stdin: "kind: A\n---\nkind: B\n",
    says: "-: it has several documents, and must have one",
  },
};
for (const [sentence, { stdin, says }] of Object.entries(inputs)) {
  Deno.test(`\`milepost optimize -\` says what is wrong with ${sentence}`, async () => {
    const { code, stderr } = await milepost(["optimize", "-"], { stdin });
    assert.deepEqual([code, stderr], [2, `milepost: ${says}\n`]);
  });
}

for (const [sentence, { args, env, want }] of Object.entries(cases)) {
  Deno.test(`milepost says in one line what is wrong with ${sentence}`, async () => {
    const { code, stdout, stderr } = await milepost(args, { ...(env ? { env } : {}) });
    assert.equal(code, 2, stderr);
    assert.equal(stdout, "");
    assert.match(stderr, want);
    assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
    assert.doesNotMatch(stderr, /^\s+at /m);
  });
}

Deno.test("milepost manager with a broken kubeconfig names the file", async () => {
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  try {
    for (const content of ["", "not: [yaml", "clusters: 3", "apiVersion: v1\nkind: Config\n"]) {
      await Deno.writeTextFile(file, content);
      const { code, stderr } = await milepost(["manager", "--kubeconfig", file]);
      assert.equal(code, 2, stderr);
      assert.ok(stderr.includes(file), stderr);
      assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
    }
  } finally {
    await Deno.remove(file);
  }
});

const HELP = /^Usage: milepost \[options\] \[command\]/;
const outputs: Record<string, { args: string[]; env?: Record<string, string>; want: RegExp }> = {
  "crds": { args: ["crds"], want: /jobsets\.jobset\.x-k8s\.io/ },
  "crds --without-jobset": { args: ["crds", "--without-jobset"], want: /^(?![^]*name: jobsets)/ },
  "crds with a variable": {
    args: ["crds"],
    env: { MILEPOST_CRDS_WITHOUT_JOBSET: "true", MILEPOST_CRDS_TRIALS: "false" },
    want: /^(?![^]*name: jobsets)[^]*trainjobs/,
  },
  "crds --v1": { args: ["crds", "--v1"], want: /^(?![^]*name: trainjobs)[^]*name: mxjobs/ },
  "crds --v1 --patch": { args: ["crds", "--v1", "--patch"], want: /\nkubectl patch / },
  "version": { args: ["version"], want: /^milepost \d+\.\d+\.\d+\nserves / },
  "--version": { args: ["--version"], want: /^milepost \d+\.\d+\.\d+\n$/ },
  "no command": { args: [], want: HELP },
  "--help": { args: ["--help"], want: HELP },
  "manager --help": { args: ["manager", "--help"], want: /--webhook-port <port>/ },
};

for (const [sentence, { args, env, want }] of Object.entries(outputs)) {
  Deno.test(`milepost answers ${sentence} on standard output with exit code 0`, async () => {
    const { code, stdout, stderr } = await milepost(args, { ...(env ? { env } : {}) });
    assert.equal(code, 0, stderr);
    assert.match(stdout, want);
    assert.equal(stderr, "");
  });
}

const levels: Record<string, { level: string; want: RegExp }> = {
  "one line": { level: "error", want: /^milepost: [^\n]+\n$/ },
  "its stack": { level: "debug", want: /^milepost: .*\n +at /m },
};

for (const [sentence, { level, want }] of Object.entries(levels)) {
  Deno.test(`milepost says of an unexpected error with --log-level ${level} ${sentence}`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "milepost-" });
    try {
      await Deno.writeTextFile(`${folder}/kubelet`, "where the kubelet wants a folder");
      const args = ["standalone", "--data-dir", folder, "--log-level", level];
      const { code, stderr } = await milepost(args);
      assert.equal(code, 1, stderr);
      assert.match(stderr, want);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
