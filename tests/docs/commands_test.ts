/** Tests of the commands of README and docs/, run as they are written against one standalone. */
import assert from "node:assert/strict";
import { program } from "../../main.ts";
import { pythonEnvironment } from "../support/python_environment.ts";
import { isInstalled, run } from "../support/command.ts";
import { startStandaloneProcess } from "../support/milepost_process.ts";
import {
  commandPages,
  looksLikeCommands,
  markingOf,
  type Places,
  scriptOf,
  scriptWith,
} from "./commands.ts";
import { blocksOf, filesEndingIn, ROOT } from "./markdown.ts";

const PAGE_TIMEOUT_MS = 300_000;
/** Resumes an example by a patch, which another page's `apply` of the examples would undo: it runs last. */
const RESUMES = "docs/start/laptop.md";
const pages = await commandPages();

Deno.test("every block of commands is run, or says which test runs it or why none does", async () => {
  const problems: string[] = [];
  for (const { path, blocks } of pages) {
    for (const block of blocks) {
      const marking = markingOf(block);
      const where = `${path}:${block.line}`;
      if (marking === undefined) {
        const hint = looksLikeCommands(block) ? "names no language" : `is marked "${block.info}"`;
        problems.push(`${where}: a block of commands ${hint}; see tests/docs/commands.ts`);
      } else if (marking.kind === "test") {
        const there = await Deno.stat(new URL(marking.path, ROOT)).catch(() => undefined);
        if (there === undefined) problems.push(`${where}: ${marking.path} does not exist`);
      }
    }
  }
  assert.deepEqual(problems, []);
});

/** Why a block cannot be run as a whole; undefined if it can. */
function obstacleIn(text: string): string | undefined {
  const endless = text.split("\n").find((line) =>
    /kubectl (?:get|logs)\b.*\s(?:-w|--watch|-f|--follow)\b/.test(line)
  );
  if (endless !== undefined) return `${endless} does not end`;
  const both = ["kustomize/base", "overlays/standalone-jobset"].every((it) => text.includes(it));
  return both ? "one of its installations overwrites what the other needs" : undefined;
}

Deno.test("every block of commands can be run as a whole", () => {
  const problems = pages.flatMap(({ path, blocks }) =>
    blocks.flatMap(({ line, text }) => {
      const obstacle = obstacleIn(text);
      return obstacle === undefined ? [] : [`${path}:${line}: ${obstacle}`];
    })
  );
  assert.deepEqual(problems, []);
});

Deno.test("every page that promises compatibility unchanged says what is refused", async () => {
  const problems: string[] = [];
  for await (const { path, text } of filesEndingIn([".md"])) {
    if (
      path !== "README.md" && !path.startsWith("docs/start/") && !path.startsWith("docs/guides/")
    ) continue;
    for (const part of text.split(/\n\n|\n(?=[-|] )/)) {
      // As code it is the name of a field, and promises nothing.
      if (part.replace(/`[^`]*`/g, "").includes("unchanged") && !part.includes("refused")) {
        problems.push(`${path}: ${part}`);
      }
    }
  }
  assert.deepEqual(problems, []);
});

/** Commands of Milepost in a text, each with its flags. */
function milepostCommands(text: string): { name: string; flags: string[] }[] {
  const lines = text.replaceAll("\\\n", " ").split("\n");
  return lines.flatMap((line) => {
    const [, name = "", rest = ""] =
      /(?:deno(?:@\S+)? task|milepost|main\.ts) ([a-z-]+)([^|;)]*)/.exec(line) ?? [];
    return name === "" ? [] : [{ name, flags: rest.match(/(?<=\s)--[a-z0-9-]+/g) ?? [] }];
  });
}

Deno.test("every flag of Milepost's commands in a block is one that the command has", () => {
  const commands = new Map(program().commands.map((it) => [it.name(), it]));
  const problems: string[] = [];
  for (const { path, blocks } of pages) {
    for (const { line, text } of blocks) {
      for (const { name, flags } of milepostCommands(text)) {
        const known = commands.get(name)?.options.map((it) => it.long);
        if (known === undefined) continue;
        for (const flag of flags.filter((it) => !known.includes(it))) {
          problems.push(`${path}:${line}: ${name} has no ${flag}`);
        }
      }
    }
  }
  assert.deepEqual(problems, []);
});

const PYTHON_PAGES = ["README.md", "docs/start/sdk.md"] as const;

/** The one Python program of a page that uses the Kubeflow SDK. */
async function sdkProgram(page: string): Promise<string> {
  const text = await Deno.readTextFile(new URL(page, ROOT));
  const programs = blocksOf(text).filter(({ info, text }) =>
    info === "python" && text.includes("TrainerClient")
  );
  assert.equal(programs.length, 1, page);
  return programs[0]?.text ?? "";
}

Deno.test("README and docs/start/sdk.md show the same program", async () => {
  const [first, second] = await Promise.all(PYTHON_PAGES.map(sdkProgram));
  assert.equal(first, second);
});

const missing: string[] = [];
for (const tool of ["kubectl", "bash", "curl", "jq", "python3"]) {
  if (!await isInstalled(tool)) missing.push(tool);
}
if (missing.length > 0) {
  // deno-lint-ignore no-console -- a word to whoever runs the tests
  console.log(`the commands of the documentation are not run: ${missing.join(", ")} not installed`);
}

/** Everything that all pages share: a folder, and a standalone whose pods find the SDK. */
async function startPlaces(bin: string | undefined) {
  const folder = await Deno.makeTempDir({ prefix: "milepost-docs-" });
  const kubeconfig = `${folder}/milepost.kubeconfig`;
  const path = Deno.env.get("PATH") ?? "";
  const standalone = await startStandaloneProcess(
    ["--data-dir", `${folder}/milepost`, "--kubeconfig", kubeconfig],
    { PATH: bin === undefined ? path : `${bin}:${path}` },
  );
  const statusPort = new URL(standalone.ready.status).port;
  const places: Places = { folder, statusPort, job: "softmax" };
  const shell = (script: string) =>
    run("bash", {
      args: ["-c", script],
      cwd: ROOT.pathname,
      env: { KUBECONFIG: kubeconfig, HOME: folder, PYTHONWARNINGS: "ignore" },
      timeoutMs: PAGE_TIMEOUT_MS,
    });
  return {
    places,
    shell,
    async [Symbol.asyncDispose]() {
      await standalone.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** The script that runs the SDK's program. */
async function sdkScript(bin: string, { folder }: Places): Promise<string> {
  const program = `${folder}/program.py`;
  await Deno.writeTextFile(program, await sdkProgram("README.md"));
  return `[ "$(${bin}/python ${program})" = "Complete training" ]`;
}

/** The script that runs the three lines of docs/guides/push.md in the program of a TrainJob. */
async function clientScript(): Promise<string> {
  const page = await Deno.readTextFile(new URL("docs/guides/push.md", ROOT));
  const program = blocksOf(page).find(({ info }) => info === "python")?.text;
  assert.ok(program !== undefined, "docs/guides/push.md has no lines of Python");
  const whole = `def train(step): return 1 / (step + 1)\n${program}`;
  const client = new URL("clients/python/src", ROOT).pathname;
  const trainJob = {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { name: "client" },
    spec: {
      runtimeRef: { name: "plain" },
      trainer: {
        command: ["python3", "-c", whole],
        env: [{ name: "PYTHONPATH", value: client }],
      },
    },
  };
  return `kubectl apply -f - <<'JSON'\n${JSON.stringify(trainJob)}\nJSON\n` +
    `kubectl wait trainjob/client --for=jsonpath='{.status.trainerStatus.progressPercentage}'=100 ` +
    `--timeout=240s`;
}

Deno.test({
  name: "the commands of README and docs/ do what the pages say",
  ignore: missing.length > 0,
  fn: async (t) => {
    const python = await pythonEnvironment("kubeflow==0.5.0");
    const bin = "bin" in python ? python.bin : undefined;
    await using started = await startPlaces(bin);
    const { places, shell } = started;
    // What several pages begin with; their own `apply` then changes nothing, until RESUMES has run.
    const both = scriptWith("kubectl apply -k examples");
    const scripts = new Map(pages.map((page) => [page.path, scriptOf(page, places)]));
    scripts.set("the lines of docs/guides/push.md", await clientScript());
    if (bin !== undefined) scripts.set("the Kubeflow SDK", await sdkScript(bin, places));
    assert.equal((await shell(both)).code, 0);
    const runAll = (wanted: (name: string) => boolean) =>
      Promise.all(
        [...scripts].filter(([name]) => wanted(name)).map(async ([name, script]) =>
          [name, script === undefined ? undefined : await shell(script)] as const
        ),
      );
    const results = [
      ...await runAll((name) => name !== RESUMES),
      ...await runAll((name) => name === RESUMES),
    ];
    for (const [name, result] of results) {
      if (result === undefined) continue;
      await t.step(name, () => assert.equal(result.code, 0, `${result.stdout}\n${result.stderr}`));
    }
  },
});
