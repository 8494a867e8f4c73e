/** Rules of the house: imports go down only, names are spelled once, files say what they are. */
import assert from "node:assert/strict";
import { importsOf, type Source } from "./support/imports.ts";

const root = new URL("../", import.meta.url);

/** The floor of each room, from the bottom. On the first floor the rooms stand in order. */
const FLOORS: Readonly<Record<string, number>> = {
  "platform/base": 1.1,
  "platform/kube": 1.2,
  "platform/http": 1.3,
  "platform/kit": 1.4,
  crds: 1.5,
  trials: 1.6,
  owner: 1.7,
  views: 1.8,
  controller: 2,
  webhook: 2,
  status: 2,
  katib: 2,
  standalone: 2,
  page: 2,
  terminal: 2,
  app: 3,
  "main.ts": 4,
};

/** Folders that stand beside the house and may use all of it. */
const BESIDE = ["tests", "bench", "build", "examples", "deploy", "docs"];

const TYPESCRIPT = /\.tsx?$/;

/** Every TypeScript file of the house, or of a folder beside it, with its path from the root. */
async function* sources(folder = ""): AsyncGenerator<Source> {
  for await (const entry of Deno.readDir(new URL(folder, root))) {
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    if (entry.isDirectory && !(folder === "" && BESIDE.includes(entry.name))) {
      yield* sources(`${folder}${entry.name}/`);
    } else if (entry.isFile && TYPESCRIPT.test(entry.name)) {
      const path = `${folder}${entry.name}`;
      yield { path, text: await Deno.readTextFile(new URL(path, root)) };
    }
  }
}

/** Returns the room of a file: its top-level folder, or that of `platform/` which it is in. */
function roomOf(path: string): string {
  const [room = path, inside = ""] = path.split("/");
  return room === "platform" ? `${room}/${inside}` : room;
}

/** Returns the reason why an import, of types only or of values, is wrong, or `undefined`. */
function wrongImport(from: string, target: string, typesOnly: boolean): string | undefined {
  const [here, there] = [roomOf(from), roomOf(target)];
  const [floor, below] = [FLOORS[here], FLOORS[there]];
  if (floor === undefined) return `${here} is no room of the house`;
  // Programs of the examples are part of the executable.
  if (here === "app" && there === "examples") return undefined;
  if (below === undefined) return `${target} is outside the house`;
  if (
    from.startsWith("standalone/apiserver/") && below < 2 &&
    !["crds", "platform/base"].includes(there)
  ) {
    return `the embedded API server must not share ${there}/ with its clients`;
  }
  if (from.startsWith("page/front/") && there !== here && below < 2) {
    return typesOnly || there === "platform/base"
      ? undefined
      : `the front end runs in a browser: of ${there}/ it may use types only`;
  }
  if (there === here) {
    const intoServer = target.startsWith("standalone/apiserver/");
    const inServer = from.startsWith("standalone/apiserver/");
    const inBrowser = from.startsWith("page/front/");
    if (inBrowser !== target.startsWith("page/front/") && here === "page") {
      return "the front end runs in a browser: its server and it share what stands below both";
    }
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
    for (const { target, typesOnly } of importsOf(source)) {
      if (/^[a-z@]/.test(target) && !target.includes(".ts")) continue;
      if (target.endsWith(".json") || target.startsWith("node:")) continue;
      const reason = wrongImport(source.path, target, typesOnly);
      if (reason) wrong.push(`${source.path} imports ${target}: ${reason}`);
    }
  }
  assert.ok(files > 20, `only ${files} files were found`);
  assert.deepEqual(wrong, []);
});

interface ImportCase {
  readonly from: string;
  readonly target: string;
  readonly typesOnly?: true;
  readonly want: RegExp | undefined;
}
const importCases: Record<string, ImportCase> = {
  "a room may use the floor below": {
    from: "status/chain/push.ts",
    target: "platform/base/clock.ts",
    want: undefined,
  },
  "a room may not use its neighbour": {
    from: "status/chain/push.ts",
    target: "katib/api/reads.ts",
    want: /sideways/,
  },
  "crds may use platform/kube": {
    from: "crds/a.ts",
    target: "platform/kube/b.ts",
    want: undefined,
  },
  "platform/kube may not use crds": {
    from: "platform/kube/a.ts",
    target: "crds/b.ts",
    want: /up/,
  },
  "platform/base may not use platform/kube": {
    from: "platform/base/a.ts",
    target: "platform/kube/b.ts",
    want: /up/,
  },
  "platform/http may use platform/kube": {
    from: "platform/http/a.ts",
    target: "platform/kube/b.ts",
    want: undefined,
  },
  "platform/kit may use platform/kube": {
    from: "platform/kit/a.ts",
    target: "platform/kube/b.ts",
    want: undefined,
  },
  "platform/kit may not use crds": {
    from: "platform/kit/a.ts",
    target: "crds/b.ts",
    want: /up/,
  },
  "platform/http may not use trials": {
    from: "platform/http/a.ts",
    target: "trials/b.ts",
    want: /up/,
  },
  "platform/kube may not use a room above": {
    from: "platform/kube/a.ts",
    target: "app/b.ts",
    want: /up/,
  },
  "the embedded server may not use platform/kube": {
    from: "standalone/apiserver/a.ts",
    target: "platform/kube/b.ts",
    want: /must not share/,
  },
  "the embedded server may use platform/base": {
    from: "standalone/apiserver/a.ts",
    target: "platform/base/b.ts",
    want: undefined,
  },
  "the kubelet may not reach into the embedded server": {
    from: "standalone/kubelet/a.ts",
    target: "standalone/apiserver/b.ts",
    want: /over HTTPS/,
  },
  "app may run examples": {
    from: "app/example/programs.ts",
    target: "examples/training/train.ts",
    want: undefined,
  },
  "no other room may use examples": {
    from: "status/a.ts",
    target: "examples/training/train.ts",
    want: /outside/,
  },
  "the front end may use types of the floor below": {
    from: "page/front/a.tsx",
    target: "crds/b.ts",
    typesOnly: true,
    want: undefined,
  },
  "the front end may not use values of the floor below": {
    from: "page/front/a.tsx",
    target: "crds/b.ts",
    want: /types only/,
  },
  "the front end may use values of platform/base": {
    from: "page/front/a.tsx",
    target: "platform/base/b.ts",
    want: undefined,
  },
  "the front end may not use values of platform/kube": {
    from: "page/front/a.tsx",
    target: "platform/kube/b.ts",
    want: /types only/,
  },
  "the front end may not use what serves it, nor its types": {
    from: "page/front/a.tsx",
    target: "page/api/b.ts",
    typesOnly: true,
    want: /browser/,
  },
  "the front end may not use types of a room beside its own": {
    from: "page/front/a.tsx",
    target: "katib/b.ts",
    typesOnly: true,
    want: /sideways/,
  },
  "other rooms may not use what is above them, nor its types": {
    from: "crds/a.ts",
    target: "page/b.ts",
    typesOnly: true,
    want: /up/,
  },
  "what serves the front end may not use it": {
    from: "page/api/a.ts",
    target: "page/front/b.ts",
    want: /browser/,
  },
  "the front end may use itself": {
    from: "page/front/a.tsx",
    target: "page/front/b.ts",
    want: undefined,
  },
  "the house may not use its tests": {
    from: "app/a.ts",
    target: "tests/b.ts",
    want: /outside/,
  },
};
for (const [sentence, { from, target, typesOnly = false, want }] of Object.entries(importCases)) {
  Deno.test(`wrongImport() knows that ${sentence}`, () => {
    const got = wrongImport(from, target, typesOnly);
    if (want) assert.match(got ?? "", want);
    else assert.equal(got, undefined);
  });
}

/** Which files a file imports. */
type ImportGraph = Readonly<Record<string, readonly string[]>>;

/** Import cycles, each as the path from a file back to itself; at least one in every knot of files. */
function importCycles(graph: ImportGraph): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) cycles.push([...path.slice(start), file].join(" → "));
    if (start >= 0 || done.has(file)) return;
    for (const target of graph[file] ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of Object.keys(graph)) visit(file, []);
  return cycles;
}

/** The import graph of the whole house, with imports of types. */
async function importGraph(): Promise<ImportGraph> {
  const graph: Record<string, string[]> = {};
  for await (const source of sources()) {
    graph[source.path] = importsOf(source).map(({ target }) => target)
      .filter((target) => TYPESCRIPT.test(target));
  }
  return graph;
}

Deno.test("no files import each other, nor their types", async () => {
  const graph = await importGraph();
  assert.ok(Object.values(graph).flat().length > 100, "hardly any import was found");
  assert.deepEqual(importCycles(graph), []);
});

Deno.test("no folders of the embedded API server import each other, nor their types", async () => {
  const room = "standalone/apiserver/";
  const files = Object.entries(await importGraph()).filter(([file]) => file.startsWith(room));
  assert.ok(files.length > 50, `only ${files.length} files were found`);
  const folders: Record<string, string[]> = {};
  for (const [file, targets] of files) {
    const folder = file.split("/")[2] ?? "";
    const others = targets.filter((target) => target.startsWith(room))
      .map((target) => target.split("/")[2] ?? "").filter((other) => other !== folder);
    folders[folder] = [...new Set([...folders[folder] ?? [], ...others])];
  }
  assert.deepEqual(importCycles(folders), []);
});

const cycleCases: Record<string, { graph: ImportGraph; want: string[] }> = {
  "files that do not lead back": { graph: { a: ["b", "c"], b: ["c"], c: [] }, want: [] },
  "a file that two import": { graph: { a: ["b", "c"], b: ["d"], c: ["d"], d: [] }, want: [] },
  "a file outside the graph": { graph: { a: ["b"] }, want: [] },
  "a file that imports itself": { graph: { a: ["a"] }, want: ["a → a"] },
  "two files that import each other": { graph: { a: ["b"], b: ["a"] }, want: ["a → b → a"] },
  "a cycle that is reached from outside": {
    graph: { a: ["b"], b: ["c"], c: ["d"], d: ["b"] },
    want: ["b → c → d → b"],
  },
  "two knots": {
    graph: { a: ["b"], b: ["a", "c"], c: ["d"], d: ["c"] },
    want: ["a → b → a", "c → d → c"],
  },
};
for (const [sentence, { graph, want }] of Object.entries(cycleCases)) {
  Deno.test(`importCycles() of ${sentence}`, () => assert.deepEqual(importCycles(graph), want));
}

const clauseCases: Record<string, boolean> = {
  'import type { A } from "./b.ts";': true,
  'import { type A, type B } from "./b.ts";': true,
  'import {\n  type A,\n  type B,\n} from "./b.ts";': true,
  'export type { A } from "./b.ts";': true,
  'import { type A, b } from "./b.ts";': false,
  'import { typeName } from "./b.ts";': false,
  'import * as b from "./b.ts";': false,
  'export { b } from "./b.ts";': false,
  'const b = await import("./b.ts");': false,
};
for (const [text, typesOnly] of Object.entries(clauseCases)) {
  Deno.test(`importsOf() says whether types alone are named in ${text}`, () => {
    const got = importsOf({ path: "room/a.ts", text });
    assert.deepEqual(got, [{ target: "room/b.ts", typesOnly }]);
  });
}

Deno.test("no file uses any or suppresses the type checker", async () => {
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

/** Reads of the time, timers, and listeners to aborts, which `platform/base/` has once for all; a socket has timers of its own. */
const CLOCK_OF_ITS_OWN =
  /(?<![.\w])set(Timeout|Interval)\(|\bDate\.now\b|\bperformance\b[.,) ]|addEventListener\("abort"/;

Deno.test("only the clock of platform/base/ sets timers, and only aborted.ts beside it listens to aborts", async () => {
  const wrong: string[] = [];
  for await (const { path, text } of sources()) {
    // What runs in a browser waits with the page.
    if (/^(page\/(front|assets)\/|platform\/base\/(clock|aborted)\.ts$)/.test(path)) continue;
    text.split("\n").forEach((line, index) => {
      const code = line.replace(/^\s*(\*|\/\/|\/\*).*$/, "");
      if (CLOCK_OF_ITS_OWN.test(code)) wrong.push(`${path}:${index + 1}: ${code.trim()}`);
    });
  }
  assert.deepEqual(wrong, []);
});

/** Ways to make markup, code or a style attribute of a text: all that the page shows is hostile. */
const MARKUP_OF_TEXT =
  /innerHTML|outerHTML|insertAdjacentHTML|setHTML|dangerouslySet|document\.write|srcdoc|DOMParser|createContextualFragment|createHTMLDocument|createHTML\b|createScript\b|\beval\(|new Function\b|\bstyle=|\bcssText\b/i;

/** What lets a text become the URL of a script: one file makes that of the page's worker. */
const TRUSTED_TEXT = /trustedTypes|createPolicy|createScriptURL/i;
const WORKER_URL = "page/front/worker_url.ts";

Deno.test("the front end makes text nodes of all texts", async () => {
  const wrong: string[] = [];
  let files = 0;
  for await (const { path, text } of sources("page/front/")) {
    files++;
    text.split("\n").forEach((line, index) => {
      const isTrusting = TRUSTED_TEXT.test(line) && path !== WORKER_URL;
      if (isTrusting || MARKUP_OF_TEXT.test(line)) {
        wrong.push(`${path}:${index + 1}: ${line.trim()}`);
      }
    });
  }
  assert.ok(files > 15, `only ${files} files were found`);
  assert.deepEqual(wrong, []);
});

const markupCases: Record<string, boolean> = {
  "box.innerHTML = text;": true,
  "<p dangerouslySetInnerHTML={{ __html: text }} />": true,
  "box.insertAdjacentHTML(place, text);": true,
  '<p style="color: red">': true,
  'setTimeout(new Function("x"))': true,
  "<p>{text}</p>": false,
  "box.textContent = text;": false,
  "probe.style.color = colour;": false,
};
for (const [line, want] of Object.entries(markupCases)) {
  Deno.test(`MARKUP_OF_TEXT knows ${line}`, () => assert.equal(MARKUP_OF_TEXT.test(line), want));
}

Deno.test("labels, annotations and variables of ours are spelled in crds/ only", async () => {
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

/** Files of one name in two rooms, each name with its paths. */
function sharedNames(paths: readonly string[]): string[] {
  const byName = Map.groupBy(paths, (path) => path.split("/").at(-1));
  return [...byName.values()]
    .filter((same) => new Set(same.map(roomOf)).size > 1)
    .map((same) => same.join(", "));
}

Deno.test("no two rooms have a file of one name", async () => {
  const paths: string[] = [];
  for await (const { path } of sources()) paths.push(path);
  for (const folder of ["build/", "deploy/"]) {
    for await (const { path } of sources(folder)) paths.push(path);
  }
  assert.deepEqual(sharedNames(paths), []);
});

Deno.test("sharedNames() finds a name in two rooms, and lets one room repeat it", () => {
  const paths = ["kube/a.ts", "crds/b.ts", "http/x/a.ts", "http/c.ts", "http/x/c.ts"];
  assert.deepEqual(sharedNames(paths), ["kube/a.ts, http/x/a.ts"]);
});

/** A file's first doc comment, which may follow the line of an interpreter. */
const FIRST_COMMENT = /^(?:#!.*\n)?\/\*\*[\s*]*([^\s*].*)/;

/** Beginnings of a question: a file's first line is a noun phrase instead, such as "Work queue with back-off." */
const QUESTION = /^(What|Which|Who|Whom|Whose|How|Whether|Why|Where|When|If|That|Until)\b/;

/** Returns the problem of a file's first line, or `undefined`. */
function firstLineProblem(text: string): string | undefined {
  const first = FIRST_COMMENT.exec(text)?.[1];
  if (first === undefined) return "it does not begin with a doc comment";
  return QUESTION.test(first) ? "its first line is a question, not a noun phrase" : undefined;
}

const firstLineCases: Record<string, { text: string; want: RegExp | undefined }> = {
  "a noun phrase": { text: "/** Work queue. */\n", want: undefined },
  "a noun phrase of several lines": { text: "/**\n * Work queue.\n */\n", want: undefined },
  "a noun phrase after an interpreter": { text: "#!/bin/x\n/** Push. */\n", want: undefined },
  "a word that begins like a question": { text: "/** Whoever-test. */\n", want: undefined },
  "a question": { text: "/** What is tested. */\n", want: /question/ },
  "a question of several lines": { text: "/**\n * Who pushes.\n */\n", want: /question/ },
  "a question after an interpreter": { text: "#!/bin/x\n/** How. */\n", want: /question/ },
  "an import": { text: 'import "./a.ts";\n', want: /doc comment/ },
  "a plain comment": { text: "/* Work queue. */\n", want: /doc comment/ },
};
for (const [sentence, { text, want }] of Object.entries(firstLineCases)) {
  Deno.test(`firstLineProblem() of ${sentence}`, () => {
    const got = firstLineProblem(text);
    if (want) assert.match(got ?? "", want);
    else assert.equal(got, undefined);
  });
}

Deno.test("every file says in its first line what it is, and its name is no dumping ground's", async () => {
  const wrong: string[] = [];
  for (const folder of ["", ...BESIDE.map((name) => `${name}/`)]) {
    let files = 0;
    for await (const { path, text } of sources(folder)) {
      files++;
      const problem = firstLineProblem(text);
      if (problem) wrong.push(`${path}: ${problem}`);
      if (/(^|\/)(utils?|helpers?|common|misc)(\.ts|\/)/.test(path)) {
        wrong.push(`${path}: its name`);
      }
    }
    assert.ok(files > 1, `only ${files} files were found in ${folder || "the house"}`);
  }
  assert.deepEqual(wrong, []);
});

Deno.test("no file of the house is too long", async () => {
  const wrong: string[] = [];
  for await (const { path, text } of sources()) {
    const lines = text.split("\n").length;
    if (lines > 400) wrong.push(`${path} has ${lines} lines; split it by meaning`);
  }
  assert.deepEqual(wrong, []);
});
