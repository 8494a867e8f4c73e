/**
 * Programs built from Go modules, by default those of a real control plane in `../modules/`: once on a
 * machine, kept in the user's cache, and by one process at a time.
 */
import { run } from "../../support/command.ts";

const MODULES = new URL("../modules/", import.meta.url).pathname;

/** Folder of the modules to build from, and the value of GOFLAGS for their builds. */
export interface ModuleRoot {
  readonly folder: string;
  readonly goFlags: string;
}

const CONTROL_PLANE: ModuleRoot = { folder: MODULES, goFlags: "" };

/** A cold build of Kubernetes takes minutes, of a module that shares nothing with it too. */
const BUILD_MS = 25 * 60_000;

/** Programs by their names, as paths. */
export type Programs = Readonly<Record<string, string>>;

/** Programs of a module. */
export interface Module {
  readonly folder: string;
  /** Go's name of each program's package, by the name of the program. */
  readonly packages: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
  readonly goFlags: string;
  /** Folder of its programs. */
  readonly cache: string;
}

/** `go.etcd.io/etcd/server/v3` is the program `etcd`; others are called like their last part. */
function nameOf(goPackage: string): string {
  const parts = goPackage.split("/").filter((part) => !/^v\d+$/.test(part));
  return goPackage.startsWith("go.etcd.io/etcd/server") ? "etcd" : parts.at(-1) ?? goPackage;
}

/** The packages of the `tool` directives of a go.mod. */
function toolsOf(goMod: string): string[] {
  const blocks = [...goMod.matchAll(/^tool \(\n([^)]*)\)/gm)].flatMap(([, block = ""]) =>
    block.split("\n")
  );
  const lines = [...goMod.matchAll(/^tool ([^\s(]+)$/gm)].map(([, one = ""]) => one);
  return [...blocks, ...lines].map((line) => line.trim()).filter((line) => line !== "");
}

/** Short name for what something is made from. */
export async function digest(texts: readonly string[]): Promise<string> {
  const bytes = new TextEncoder().encode(texts.join("\0"));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...hash.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Folder that outlives the checkout, for programs that are built once. */
export function cacheRoot(): string {
  const home = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME") ?? "/tmp"}/.cache`;
  return `${home}/milepost/cluster`;
}

/** The sources of the programs that are in the module itself. */
async function ownSources(folder: string, goMod: string): Promise<string[]> {
  const own = /^module (\S+)$/m.exec(goMod)?.[1] ?? "";
  const folders = toolsOf(goMod).filter((one) => one.startsWith(`${own}/`))
    .map((one) => `${folder}${one.slice(own.length)}`);
  return await Promise.all(folders.map((one) => Deno.readTextFile(`${one}/main.go`)));
}

/** Reads what a module says. */
export async function readModule(name: string, root = CONTROL_PLANE): Promise<Module> {
  const folder = `${root.folder}${name}`;
  const goMod = await Deno.readTextFile(`${folder}/go.mod`);
  const goSum = await Deno.readTextFile(`${folder}/go.sum`);
  // Without its version kubectl cannot read the server's.
  const version = /^\s*(?:require )?k8s\.io\/kubernetes (v\S+)/m.exec(goMod)?.[1];
  const ldflags = ["-s", "-w"];
  if (version) ldflags.push(`-X k8s.io/component-base/version.gitVersion=${version}`);
  const flags = ["-buildvcs=false", "-ldflags", ldflags.join(" ")];
  const packages = Object.fromEntries(toolsOf(goMod).map((one) => [nameOf(one), one]));
  const key = await digest([goMod, goSum, ...flags, ...await ownSources(folder, goMod)]);
  const { goFlags } = root;
  return { folder, packages, flags, goFlags, cache: `${cacheRoot()}/${name}-${key}` };
}

/** Whether there is a file of that name. */
export async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Builds one program; a build that fails leaves nothing. Throws with what Go said. */
async function build(module: Module, program: string): Promise<void> {
  const goPackage = module.packages[program];
  if (goPackage === undefined) {
    throw new Error(`${module.folder}/go.mod has no tool directive for ${program}`);
  }
  const target = `${module.cache}/${program}`;
  const { code, stdout, stderr } = await run("go", {
    args: ["build", ...module.flags, "-o", `${target}.new`, goPackage],
    cwd: module.folder,
    env: { CGO_ENABLED: "0", GOFLAGS: module.goFlags },
    timeoutMs: BUILD_MS,
  }).catch((cause) => {
    const hint = "install Go (apt-get install golang), or name a folder with KUBEBUILDER_ASSETS";
    throw new Error(`${program} is not built yet and Go is not there: ${hint}`, { cause });
  });
  if (code !== 0) throw new Error(`go build ${goPackage} ended with ${code}: ${stdout}${stderr}`);
  await Deno.rename(`${target}.new`, target);
}

/** Runs `work` while no other process does, on this machine. */
export async function exclusively<T>(file: string, work: () => Promise<T>): Promise<T> {
  using lock = await Deno.open(file, { create: true, write: true });
  await lock.lock(true);
  return await work();
}

/**
 * Programs of the module `name` (a folder of `root`), by default all; what is not in the cache
 * is built. A program that the folder KUBEBUILDER_ASSETS holds is taken from there.
 * Throws where Go is missing or a build fails.
 */
export async function programs(
  name: string,
  wanted?: readonly string[],
  root = CONTROL_PLANE,
): Promise<Programs> {
  const module = await readModule(name, root);
  const assets = Deno.env.get("KUBEBUILDER_ASSETS");
  const found: Record<string, string> = {};
  for (const program of wanted ?? Object.keys(module.packages)) {
    const ready = `${assets}/${program}`;
    if (assets && await isFile(ready)) {
      found[program] = ready;
      continue;
    }
    const built = `${module.cache}/${program}`;
    if (!await isFile(built)) {
      await Deno.mkdir(module.cache, { recursive: true });
      await exclusively(`${module.cache}/lock`, async () => {
        if (!await isFile(built)) await build(module, program);
      });
    }
    found[program] = built;
  }
  return found;
}

/** The folder of a Go module's sources in Go's module cache, as `go list` tells. */
export async function moduleFolder(
  name: string,
  goModule: string,
  root = CONTROL_PLANE,
): Promise<string> {
  const { folder } = await readModule(name, root);
  const { code, stdout, stderr } = await run("go", {
    args: ["list", "-m", "-f", "{{.Dir}}", goModule],
    cwd: folder,
    timeoutMs: 120_000,
  });
  if (code !== 0) throw new Error(`go list -m ${goModule}: ${stderr}`);
  return stdout.trim();
}

// By itself it builds the modules that are named, by default all, and prints what there is then.
if (import.meta.main) {
  const all = [...Deno.readDirSync(MODULES)].map(({ name }) => name);
  for (const name of Deno.args.length > 0 ? Deno.args : all) {
    const paths = Object.values(await programs(name));
    await Deno.stdout.write(new TextEncoder().encode(`${paths.join("\n")}\n`));
  }
}
