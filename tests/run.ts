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

/**
 * Runs the pure files. Most of their time would be spent on loading their imports again for each, so
 * that a few modules import them all, in turn. Permission to read files and variables and nothing
 * else proves that the choice is right.
 */
async function runQuick(jobs: number, flags: string[]): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-quick-" });
  try {
    const parts = Array.from({ length: PARTS }, (_, part) => `${folder}/part_${part + 1}.ts`);
    await Promise.all(parts.map((path, part) => {
      const files = pure.filter((_, index) => index % PARTS === part);
      const imports = files.map((file) => `import "${new URL(file, root)}";\n`);
      return Deno.writeTextFile(path, imports.join(""));
    }));
    return await run(parts, ["--no-prompt", "--allow-read", "--allow-env"], jobs, flags);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const cores = navigator.hardwareConcurrency;
/** Number of the modules that import the pure files: so many that no core is idle at the end. */
const PARTS = 2 * cores;
/** Tests that start servers wait half of their time, for a lease to run out or a process to start: three run on two cores. */
const WAITING_JOBS = 1.5 * cores;
const [which, ...flags] = Deno.args;
if (which === "cluster") {
  Deno.exit(await run(["tests/cluster/"], ["--allow-all"], WAITING_JOBS, flags));
}
const quickCode = await runQuick(cores, which === "quick" ? flags : Deno.args);
if (which === "quick") Deno.exit(quickCode);
const othersCode = await run(others, ["--allow-all"], WAITING_JOBS, Deno.args);
Deno.exit(Math.max(quickCode, othersCode));
