/** The load generator of `bench/generator/`: built once with Go, run with a plan, its result parsed. */
import { run } from "../../tests/support/command.ts";
import {
  cacheRoot,
  digest,
  exclusively,
  isFile,
} from "../../tests/cluster/control_plane/programs.ts";
import { type LoadPlan, type LoadResult, parseLoad } from "./plan.ts";

export type { Load, LoadPlan, LoadResult } from "./plan.ts";

const folder = new URL("./", import.meta.url).pathname;
const BUILD_MS = 5 * 60_000;
/** Time beyond that of the plans: reading, writing and the last answers. */
const SPARE_MS = 60_000;
/** Time limit of a plan that ends by its count. */
const COUNT_MS = 10 * 60_000;

async function build(target: string): Promise<void> {
  const { code, stdout, stderr } = await run("go", {
    args: ["build", "-buildvcs=false", "-ldflags", "-s -w", "-o", `${target}.new`, "."],
    cwd: folder,
    env: { CGO_ENABLED: "0", GOFLAGS: "", GOTOOLCHAIN: "local" },
    timeoutMs: BUILD_MS,
  }).catch((cause) => {
    throw new Error("the load generator needs Go: install it (apt-get install golang)", { cause });
  });
  if (code !== 0) throw new Error(`go build of ${folder} ended with ${code}: ${stdout}${stderr}`);
  await Deno.rename(`${target}.new`, target);
}

/**
 * The path of the generator's program, which is built where this version of it is not in the cache.
 * Throws where Go is missing or the build fails.
 */
export async function buildGenerator(): Promise<string> {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name)
    .filter((name) => name.endsWith(".go") || name === "go.mod").sort();
  const texts = await Promise.all(names.map((name) => Deno.readTextFile(`${folder}${name}`)));
  const cache = `${cacheRoot()}/generator-${await digest([...names, ...texts])}`;
  const target = `${cache}/generator`;
  if (await isFile(target)) return target;
  await Deno.mkdir(cache, { recursive: true });
  await exclusively(`${cache}/lock`, async () => {
    if (!await isFile(target)) await build(target);
  });
  return target;
}

/** How long plans may take together, in milliseconds. */
function limitOf(plans: readonly LoadPlan[]): number {
  const times = plans.map(({ startAfterMs = 0, durationMs, timeoutMs = 5_000 }) =>
    startAfterMs + (durationMs ?? COUNT_MS) + timeoutMs
  );
  return Math.max(...times) + SPARE_MS;
}

/**
 * Runs plans at the same time in one process. Returns one result for each plan, in their order, and the
 * generator's own processor time. Throws where a plan is wrong or takes much longer than it says.
 */
export async function runLoads(plans: readonly LoadPlan[]): Promise<LoadResult> {
  const { code, stdout, stderr } = await run(await buildGenerator(), {
    stdin: JSON.stringify({ plans }),
    timeoutMs: limitOf(plans),
  });
  if (code !== 0) throw new Error(`the load generator ended with ${code}: ${stderr.trim()}`);
  return parseLoad(stdout);
}

/** Runs one plan; as {@link runLoads}, with its only result and the processor time. */
export async function runLoad(plan: LoadPlan) {
  const { results: [load], cpuSeconds } = await runLoads([plan]);
  if (load === undefined) throw new Error("the load generator answered nothing");
  return { ...load, cpuSeconds };
}
