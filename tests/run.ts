/**
 * Runner of the tests that need neither a real control plane, nor a peer, a framework or packages of Python: the quick ones, which cannot
 * touch the machine, and then those that start servers and processes. With `quick` it runs only the
 * former, with `cluster` those that need a real control plane. Further arguments are flags of `deno test`.
 */
import { findTests } from "./support/pure_tests.ts";

const root = new URL("../", import.meta.url);

const { all, pure } = findTests();
const quick = new Set(pure);

/** Runs files in one process, so many at a time. Returns its exit code. */
async function run(
  files: readonly string[],
  may: readonly string[],
  jobs: number,
  flags: string[],
) {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--no-check", "--parallel", ...may, ...flags, ...files],
    cwd: root,
    env: { DENO_JOBS: `${Math.ceil(jobs)}` },
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  return code;
}

/** Runs groups of files, each in one module that imports them in turn; Deno begins with the first. */
async function runGroups(
  groups: readonly Group[],
  may: readonly string[],
  jobs: number,
  flags: string[],
): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-tests-" });
  try {
    const modules = groups.map(([name, files]) => {
      const path = `${folder}/${name}.ts`;
      const imports = files.map((file) => `import "${new URL(file, root)}";\n`);
      Deno.writeTextFileSync(path, imports.join(""));
      return path;
    });
    return await run(modules, may, jobs, flags);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

type Group = readonly [name: string, files: readonly string[]];

/** Deals files out to so many groups. */
function dealt(name: string, files: readonly string[], count: number): Group[] {
  const turns = Map.groupBy(files.entries(), ([index]) => `${name}_${index % count + 1}`);
  return [...turns].map(([part, those]) => [part, those.map(([, file]) => file)]);
}

/** Groups of a few files each. */
const fewOf = (name: string, files: readonly string[] = []) =>
  dealt(name, files, Math.ceil(files.length / TOGETHER));

/** Groups of one file each. */
const each = (files: readonly string[] = []) =>
  files.map((
    file,
  ): Group => [file.replace(/^tests\/(.*)\.ts$/, "$1").replaceAll("/", "."), [file]]);

const textOf = (path: string) => Deno.readTextFileSync(new URL(path, root));

/**
 * Runs the pure files. Most of their time would be spent on loading their imports again for each, so
 * that a few modules import them all, in turn. Permission to read files and variables and nothing
 * else proves that the choice is right.
 */
function runQuick(jobs: number, flags: string[]): Promise<number> {
  const may = ["--no-prompt", "--allow-read", "--allow-env"];
  return runGroups(dealt("part", pure, PARTS), may, jobs, flags);
}

/**
 * Runs the files that need a real control plane. Those that share one are together in a few modules, each
 * of which starts its own. The comparisons with upstream, each of which has two, take longest: they are spread,
 * so that hardly two run at the same time.
 */
function runCluster(jobs: number, flags: string[]): Promise<number> {
  const files = all.filter((path) => path.startsWith("tests/cluster/")).toReversed();
  const { parity, own, ...shared } = Object.groupBy(files, (path) => {
    const shares = /\bshareCluster\(("(?<kind>\w+)")?\)/.exec(textOf(path));
    if (shares === null) return path.includes("/parity/") ? "parity" : "own";
    return shares.groups?.kind ?? "plain";
  });
  const sharing = Object.entries(shared).flatMap(([kind, paths]) => fewOf(kind, paths));
  const others = [...sharing, ...each(own)];
  const comparisons = each(parity);
  const part = Math.ceil(others.length / comparisons.length);
  const groups = comparisons.flatMap((comparison, index) => [
    comparison,
    ...others.slice(index * part, (index + 1) * part),
  ]);
  return runGroups(groups, ["--allow-all"], jobs, flags);
}

/**
 * Runs the files that start servers and processes, a few in a module: loading takes as long as many a test.
 * Those that wait for clients of other languages go first, alone, as do those that share a standalone.
 */
function runOthers(jobs: number, flags: string[]): Promise<number> {
  const files = all.filter((path) =>
    !quick.has(path) && !/^tests\/(browser|cluster|journeys|peers|python|training)\//.test(path)
  ).toReversed();
  const { slow, sharing, rest } = Object.groupBy(files, (path) => {
    if (/^tests\/(clients|docs|build)\//.test(path)) return "slow";
    return textOf(path).includes("shareStandalone(") ? "sharing" : "rest";
  });
  const groups = [...each(slow), ...each(sharing), ...fewOf("others", rest)];
  return runGroups(groups, ["--allow-all"], jobs, flags);
}

const cores = navigator.hardwareConcurrency;
/** Number of the modules that import the pure files: so many that no core is idle at the end. */
const PARTS = 2 * cores;
/** Tests that start servers wait half of their time, for a lease to run out or a process to start: three run on two cores. */
const WAITING_JOBS = 1.5 * cores;
/** Files of a module: with more, one module would end long after the others. */
const TOGETHER = 8;
const [which, ...flags] = Deno.args;
if (which === "cluster") {
  Deno.exit(await runCluster(WAITING_JOBS, flags));
}
const quickCode = await runQuick(cores, which === "quick" ? flags : Deno.args);
if (which === "quick") Deno.exit(quickCode);
const othersCode = await runOthers(WAITING_JOBS, Deno.args);
Deno.exit(Math.max(quickCode, othersCode));
