/** The house: an import goes down, never up and never sideways; names are spelled once. */
import assert from "node:assert/strict";

const root = new URL("../", import.meta.url);

/** The floor of each room, from the bottom. On the first floor the rooms stand in order. */
const FLOORS: Readonly<Record<string, number>> = {
  crds: 1.1,
  kube: 1.2,
  http: 1.3,
  trials: 1.4,
  controller: 2,
  webhook: 2,
  status: 2,
  katib: 2,
  standalone: 2,
  app: 3,
  "main.ts": 4,
};

/** Folders that stand beside the house and may use all of it. */
const BESIDE = new Set(["tests", "bench", "build", "examples", "deploy", "docs"]);

interface Source {
  path: string;
  text: string;
}

/** Every TypeScript file of the house, with its path from the root. */
async function* sources(folder = ""): AsyncGenerator<Source> {
  for await (const entry of Deno.readDir(new URL(folder, root))) {
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    if (entry.isDirectory && !(folder === "" && BESIDE.has(entry.name))) {
      yield* sources(`${folder}${entry.name}/`);
    } else if (entry.isFile && entry.name.endsWith(".ts")) {
      const path = `${folder}${entry.name}`;
      yield { path, text: await Deno.readTextFile(new URL(path, root)) };
    }
  }
}

/** A file that is taken in as text, such as an example, is no code and stands beside the house. */
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)"(?! with \{ type: "text" \})|\bimport\(\s*"([^"]+)"/g;

/** What a file imports, relative ones as paths from the root. */
function importsOf({ path, text }: Source): string[] {
  return [...text.matchAll(IMPORT)].map((match) => {
    const target = match[1] ?? match[2] ?? "";
    if (!target.startsWith(".")) return target;
    return new URL(target, new URL(path, "file:///")).pathname.slice(1);
  });
}

function roomOf(path: string): string {
  return path.split("/")[0] ?? path;
}

/** Why an import is wrong, or nothing. */
function wrongImport(from: string, target: string): string | undefined {
  const [here, there] = [roomOf(from), roomOf(target)];
  const [floor, below] = [FLOORS[here], FLOORS[there]];
  if (floor === undefined) return `${here} is no room of the house`;
  if (below === undefined) return `${target} is outside the house`;
  if (from.startsWith("standalone/apiserver/") && there === "kube") {
    return "the embedded API server must not share kube/ with its clients";
  }
  if (there === here) {
    const intoServer = target.startsWith("standalone/apiserver/");
    const inServer = from.startsWith("standalone/apiserver/");
    return here === "standalone" && intoServer !== inServer
      ? "the embedded API server and its clients talk over HTTPS; app/ puts them together"
      : undefined;
  }
  if (below > floor) return "the import goes up";
  if (below === floor) return "the import goes sideways: let app/ hand it in";
  return undefined;
}

Deno.test("imports go down, never up and never sideways", async () => {
  const wrong: string[] = [];
  let files = 0;
  for await (const source of sources()) {
    files++;
    for (const target of importsOf(source)) {
      if (/^[a-z@]/.test(target) && !target.includes(".ts")) continue;
      if (target.endsWith(".json") || target.startsWith("node:")) continue;
      const reason = wrongImport(source.path, target);
      if (reason) wrong.push(`${source.path} imports ${target}: ${reason}`);
    }
  }
  assert.ok(files > 20, `only ${files} files were found`);
  assert.deepEqual(wrong, []);
});

const importCases: Record<string, { from: string; target: string; want: RegExp | undefined }> = {
  "a room may use the floor below": {
    from: "status/ledger/ledger.ts",
    target: "kube/clock.ts",
    want: undefined,
  },
  "a room may not use its neighbour": {
    from: "status/ledger/ledger.ts",
    target: "katib/adapter/adapter.ts",
    want: /sideways/,
  },
  "crds may not use kube": { from: "crds/a.ts", target: "kube/b.ts", want: /up/ },
  "kube may use crds": { from: "kube/a.ts", target: "crds/b.ts", want: undefined },
  "http may not use trials": { from: "http/a.ts", target: "trials/b.ts", want: /up/ },
  "kube may not use a room above": { from: "kube/a.ts", target: "app/b.ts", want: /up/ },
  "the embedded server may not use kube": {
    from: "standalone/apiserver/a.ts",
    target: "kube/b.ts",
    want: /must not share/,
  },
  "the kubelet may not reach into the embedded server": {
    from: "standalone/kubelet/a.ts",
    target: "standalone/apiserver/b.ts",
    want: /over HTTPS/,
  },
  "the house may not use its tests": {
    from: "app/a.ts",
    target: "tests/b.ts",
    want: /outside/,
  },
};
for (const [sentence, { from, target, want }] of Object.entries(importCases)) {
  Deno.test(`wrongImport() knows that ${sentence}`, () => {
    const got = wrongImport(from, target);
    if (want) assert.match(got ?? "", want);
    else assert.equal(got, undefined);
  });
}

Deno.test("no file gives types up", async () => {
  const wrong: string[] = [];
  for await (const { path, text } of sources()) {
    text.split("\n").forEach((line, index) => {
      const code = line.replace(/^\s*(\*|\/\/|\/\*).*$/, "");
      const isGivenUp = /:\s*any\b|<any>|\bas any\b|as unknown as/.test(code) ||
        /@ts-(ignore|expect-error|nocheck)/.test(line);
      if (isGivenUp) {
        wrong.push(`${path}:${index + 1}: ${line.trim()}`);
      }
    });
  }
  assert.deepEqual(wrong, []);
});

Deno.test("labels, annotations and variables of ours are spelled in crds/names.ts only", async () => {
  const wrong: string[] = [];
  for await (const { path, text } of sources()) {
    if (roomOf(path) === "crds") continue;
    text.split("\n").forEach((line, index) => {
      const code = line.replace(/^\s*(\*|\/\/|\/\*).*$/, "");
      if (/["'`](trainer\.kubeflow\.org|jobset\.sigs\.k8s\.io|KUBEFLOW_TRAINER_|PET_)/.test(code)) {
        wrong.push(`${path}:${index + 1}: ${code.trim()}`);
      }
    });
  }
  assert.deepEqual(wrong, []);
});

Deno.test("every file says in its first line what it is, and none is a dumping ground", async () => {
  const wrong: string[] = [];
  for await (const { path, text } of sources()) {
    if (!/^(#!.*\n)?\/\*\*/.test(text)) wrong.push(`${path} does not begin with a doc comment`);
    if (/(^|\/)(utils?|helpers?|common|misc)(\.ts|\/)/.test(path)) wrong.push(`${path}: its name`);
    const lines = text.split("\n").length;
    if (lines > 400) wrong.push(`${path} has ${lines} lines; split it by meaning`);
  }
  assert.deepEqual(wrong, []);
});
