/**
 * Runner of the tests that need neither a real control plane, nor a peer, a framework or packages of Python: the quick ones, which cannot
 * touch the machine, and then those that start servers and processes. With `quick` it runs only the
 * former, with `cluster` those that need a real control plane. Further arguments are flags of `deno test`.
 */
import { findTests } from "./support/pure_tests.ts";

const root = new URL("../", import.meta.url);

const { all, pure } = findTests();
const quick = new Set(pure);
// Deno begins with the deepest folders; of one depth those that wait for clients and processes go first.
const others = all.filter((path) =>
  !quick.has(path) && !/^tests\/(browser|cluster|peers|python|training)\//.test(path)
)
  .reverse();

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
  groups: Iterable<readonly [name: string, files: readonly string[]]>,
  may: readonly string[],
  jobs: number,
  flags: string[],
): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-tests-" });
  try {
    const modules = [...groups].map(([name, files]) => {
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

/** Deals files out to so many groups. */
function dealt(name: string, files: readonly string[], count: number) {
  const turns = Map.groupBy(files.entries(), ([index]) => `${name}_${index % count + 1}`);
  return [...turns].map(([part, those]) => [part, those.map(([, file]) => file)] as const);
}

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
 * of which starts its own. The comparisons with upstream take longest and go first, then those that share.
 */
function runCluster(jobs: number, flags: string[]): Promise<number> {
  const files = all.filter((path) => path.startsWith("tests/cluster/")).toReversed();
  const planeOf = (path: string) =>
    /\bshareCluster\(("(?<named>\w+)")?\)/.exec(Deno.readTextFileSync(new URL(path, root)));
  const groups = Map.groupBy(files, (path) => {
    const shared = planeOf(path);
    if (shared === null) return path.includes("/parity/") ? "parity" : "own";
    return shared.groups?.named ?? "plain";
  });
  const { parity = [], own = [], ...shared } = Object.fromEntries(groups);
  const each = (paths: readonly string[]) =>
    paths.map((path) =>
      [path.replace(/^tests\/cluster\//, "").replaceAll(/\W/g, "_"), [path]] as const
    );
  return runGroups(
    [
      ...each(parity),
      ...Object.entries(shared).flatMap(([name, paths]) =>
        dealt(name, paths, Math.ceil(paths.length / SHARING))
      ),
      ...each(own),
    ],
    ["--allow-all"],
    jobs,
    flags,
  );
}

const cores = navigator.hardwareConcurrency;
/** Number of the modules that import the pure files: so many that no core is idle at the end. */
const PARTS = 2 * cores;
/** Tests that start servers wait half of their time, for a lease to run out or a process to start: three run on two cores. */
const WAITING_JOBS = 1.5 * cores;
/** Files that share a control plane. */
const SHARING = 8;
const [which, ...flags] = Deno.args;
if (which === "cluster") {
  Deno.exit(await runCluster(WAITING_JOBS, flags));
}
const quickCode = await runQuick(cores, which === "quick" ? flags : Deno.args);
if (which === "quick") Deno.exit(quickCode);
const othersCode = await run(others, ["--allow-all"], WAITING_JOBS, Deno.args);
Deno.exit(Math.max(quickCode, othersCode));
