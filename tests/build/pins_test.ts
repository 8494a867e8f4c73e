/** Tests of pins: what others publish and a release runs or contains is named by its hash. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";

const ROOT = new URL("../../", import.meta.url);
const WORKFLOWS = new URL(".github/workflows/", ROOT);

/** Image by its digest; the tag is for people. */
const IMAGE = /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/;

const workflows = [...Deno.readDirSync(WORKFLOWS)].map(({ name }) => ({
  name,
  text: Deno.readTextFileSync(new URL(name, WORKFLOWS)),
}));

/** Returns every value of that key, at any depth. */
function valuesOf(key: string, within: unknown): unknown[] {
  if (within === null || typeof within !== "object") return [];
  return Object.entries(within).flatMap(([name, value]) =>
    name === key ? [value] : valuesOf(key, value)
  );
}

/** Returns what is wrong with an action's name, which stands in that text; undefined if nothing is. */
function problemOf(uses: unknown, text: string): string | undefined {
  if (typeof uses !== "string") return "is no text";
  if (uses.startsWith("./")) return undefined;
  if (!/^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/.test(uses)) {
    return "is not pinned by the hash of a commit";
  }
  const versions = text.split(uses).slice(1).map((after) => after.split("\n")[0] ?? "");
  return versions.every((it) => /^ # v\d+\.\d+\.\d+$/.test(it))
    ? undefined
    : "does not say its version behind the hash, such as # v1.2.3";
}

const problemsOf = (text: string) =>
  valuesOf("uses", parseYaml(text)).flatMap((uses) => {
    const problem = problemOf(uses, text);
    return problem === undefined ? [] : [`${uses} ${problem}`];
  });

Deno.test("every action of every workflow is pinned by its commit, and says its version", () => {
  const problems = workflows.flatMap(({ name, text }) =>
    problemsOf(text).map((problem) => `${name}: ${problem}`)
  );
  assert.deepEqual(problems, []);
});

Deno.test("an action by tag, branch or short hash is found, also where YAML is written otherwise", () => {
  const hash = "0123456789abcdef0123456789abcdef01234567";
  const steps = [
    "- uses: a/b@v1",
    "- {uses: a/b@main}",
    '- "uses": a/b@0123456',
    "- uses: docker://a/b:1",
    `- uses: a/b@${hash}`,
    `- uses: a/b@${hash} # latest`,
  ];
  for (const step of steps) assert.equal(problemsOf(`steps:\n  ${step}\n`).length, 1, step);
  for (const step of [`- uses: a/b@${hash} # v1.2.3`, "- uses: ./.github/workflows/ci.yml"]) {
    assert.deepEqual(problemsOf(`steps:\n  ${step}\n`), []);
  }
});

Deno.test("an action is the same in every workflow", () => {
  const versions = new Map<string, Set<string>>();
  for (const { text } of workflows) {
    for (const [, action = "", pin = ""] of text.matchAll(/uses: ([^@\s]+)@(.+)$/gm)) {
      versions.set(action, (versions.get(action) ?? new Set()).add(pin));
    }
  }
  assert.ok(versions.size > 0);
  assert.deepEqual([...versions].filter(([, pins]) => pins.size > 1), []);
});

Deno.test("the image's bases are pinned by digest", async () => {
  const text = await Deno.readTextFile(new URL("Containerfile", ROOT));
  const [, deno] = /^ARG DENO_RELEASE=(\S+)$/m.exec(text) ?? [];
  const bases = [...text.matchAll(/^FROM (?:--\S+ )*(\S+)/gm)].map(([, base = ""]) =>
    base.replace("${DENO_RELEASE}", deno ?? "")
  );
  assert.equal(bases.length, 2);
  for (const base of bases) assert.match(base, IMAGE);
  const copied = new Set([...text.matchAll(/--from=(\S+)/g)].map(([, from]) => from));
  assert.deepEqual([...copied], ["build"], "files come from no other image");
});

Deno.test("what builds the image and lists its parts is pinned by digest", () => {
  const release = workflows.find(({ name }) => name === "release.yml");
  const parsed: unknown = parseYaml(release?.text ?? "");
  const images = ["driver-opts", "sbom"].flatMap((key) => valuesOf(key, parsed));
  assert.equal(images.length, 2);
  for (const image of images) {
    assert.match(String(image).replace(/^(?:image|generator)=/, ""), IMAGE);
  }
});

Deno.test("what builds and publishes wheels is pinned by hash, and what builds can publish nothing", async () => {
  const pips = workflows.flatMap(({ name, text }) =>
    [...text.matchAll(/\bpip (\w+ .*)$/gm)].map(([, command]) => `${name}: ${command}`)
  );
  const folder = "clients/python";
  assert.deepEqual(pips, [
    `release.yml: install --require-hashes -r ${folder}/publish-requirements.txt`,
  ]);
  const builder = await Deno.readTextFile(new URL("build/release/python_packages.ts", ROOT));
  assert.match(builder, /"install", "--quiet", "--require-hashes", "-r", REQUIREMENTS/);
  for (const file of ["build-requirements.txt", "publish-requirements.txt"]) {
    const text = await Deno.readTextFile(new URL(`${folder}/${file}`, ROOT));
    const requirements = text.trim().split("\n").filter((line) => !line.startsWith("#"));
    assert.ok(requirements.length > 0, file);
    for (const requirement of requirements) {
      assert.match(requirement, /^[\w.-]+==[\w.]+(?: ; [^;]+)? --hash=sha256:[0-9a-f]{64}$/);
    }
  }
});
