/** Tests of links between pages, and of mentions of pages in code. */
import assert from "node:assert/strict";
import { posix } from "node:path";
import { anchorsOf, filesEndingIn, linksOf, ROOT, type TextFile } from "./markdown.ts";

const pages = new Map<string, string>();
for await (const { path, text } of filesEndingIn([".md"])) pages.set(path, text);

const exists = (path: string) => Deno.stat(new URL(path, ROOT)).then(() => true, () => false);

/** Path from the root and anchor of a relative link; undefined for an address elsewhere. */
function targetOf(page: string, link: string): { path: string; anchor: string } | undefined {
  if (/^[a-z]+:/.test(link)) return undefined;
  const [path = "", anchor = ""] = link.split("#");
  return { path: path === "" ? page : posix.join(posix.dirname(page), path), anchor };
}

/** The problem of a link; undefined if it leads somewhere. */
async function problemOf(page: string, link: string): Promise<string | undefined> {
  const target = targetOf(page, link);
  if (target === undefined) return undefined;
  if (!(await exists(target.path))) return `${page}: ${link} does not exist`;
  if (target.anchor === "") return undefined;
  const text = pages.get(target.path);
  if (text === undefined) return `${page}: ${link} is not a page`;
  return anchorsOf(text).has(target.anchor) ? undefined : `${page}: ${link} has no such heading`;
}

Deno.test("every relative link of every page leads to a file, and to a heading of it", async () => {
  const problems: string[] = [];
  for (const [page, text] of pages) {
    for (const link of linksOf(text)) {
      const problem = await problemOf(page, link);
      if (problem !== undefined) problems.push(problem);
    }
  }
  assert.deepEqual(problems, []);
});

/** Pages that the links of `from` lead to, over any number of steps. A link to the folder of decisions leads to each. */
function reachable(from: string): Set<string> {
  const found = new Set([from]);
  for (const page of found) {
    for (const link of linksOf(pages.get(page) ?? "")) {
      const path = targetOf(page, link)?.path.replace(/\/$/, "") ?? "";
      for (const other of pages.keys()) {
        if (other === path || (path.endsWith("/decisions") && other.startsWith(`${path}/`))) {
          found.add(other);
        }
      }
    }
  }
  return found;
}

Deno.test("every page below docs/ can be reached from the README", () => {
  const found = reachable("README.md");
  const lost = [...pages.keys()].filter((page) => page.startsWith("docs/") && !found.has(page));
  assert.deepEqual(lost, []);
});

/** Pages below docs/ that a file names, such as `docs/guides/push.md` and `docs/decisions/0015`. */
function mentionsOf({ text }: TextFile): string[] {
  return [...text.matchAll(/(?<![\w/.-])docs\/[\w./-]*\w/g)].map(([mention]) => mention);
}

Deno.test("every page that code, manifests and examples name exists", async () => {
  const problems: string[] = [];
  for await (const file of filesEndingIn([".ts", ".yaml", ".json", ".py", ".tpl"])) {
    for (const mention of mentionsOf(file)) {
      const known = [...pages.keys()].some((page) => page.startsWith(mention)) ||
        await exists(mention);
      if (!known) problems.push(`${file.path}: ${mention} does not exist`);
    }
  }
  assert.deepEqual(problems, []);
});

/** Folders whose files pages name between backticks. */
const FOLDERS = [...Deno.readDirSync(ROOT)]
  .filter(({ isDirectory, name }) => isDirectory && /^[a-z]/.test(name) && name !== "dist")
  .map(({ name }) => name);
const CODE_PATH = new RegExp(`\`((?:${FOLDERS.join("|")})/[\\w./-]*)\``, "g");

/** A path of the code between backticks, or the name of a file beside the one that was named before. */
const STEP = /`((?:[\w-]+\/)*)([\w-]+\.tsx?)`/g;

Deno.test("every file on the walks of docs/architecture.md exists", async () => {
  const problems: string[] = [];
  let steps = 0;
  for (const walk of (pages.get("docs/architecture.md") ?? "").split("\n\n")) {
    if (!walk.startsWith("**")) continue;
    let folder = "";
    for (const [, named = "", file = ""] of walk.matchAll(STEP)) {
      if (named !== "") folder = named;
      steps += 1;
      if (!(await exists(folder + file))) problems.push(`${folder}${file} does not exist`);
    }
  }
  assert.ok(steps > 20, `only ${steps} files were found`);
  assert.deepEqual(problems, []);
});

Deno.test("every file and folder of the code that a page below docs/ names exists", async () => {
  const problems: string[] = [];
  for (const [page, text] of pages) {
    if (!page.startsWith("docs/") && page !== "README.md" && page !== "CONTRIBUTING.md") continue;
    for (const [, path = ""] of text.matchAll(CODE_PATH)) {
      if (!(await exists(path))) problems.push(`${page}: ${path} does not exist`);
    }
  }
  assert.deepEqual(problems, []);
});
