/** Packages of a release, installed from their files into an empty folder, with cold caches and nothing of the repository. */
import assert from "node:assert/strict";
import type { Release } from "../../../build/release.ts";
import { fileURLToPath } from "node:url";
import { type CommandResult, isInstalled, run } from "../../support/command.ts";
import { type Environment, failureOf } from "../../support/python_environment.ts";
import { until } from "../../support/until.ts";

/** A release that was made for a check, in a folder of its own. */
export interface MadeRelease extends AsyncDisposable {
  readonly release: Release;
  /** Folder of its files. */
  readonly files: string;
  /** Makes an empty folder, which goes with the release. */
  empty(name: string): Promise<string>;
}

const succeeded = (program: string, result: CommandResult) => {
  assert.equal(result.code, 0, `${program}: ${result.stdout}${result.stderr}`);
  return result;
};

/** Makes what a release publishes, as far as it can be made here. */
export async function madeRelease(): Promise<MadeRelease> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  const files = `${folder}/files`;
  const made = await run(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "build/release.ts", "--check", "--output", files],
    cwd: fileURLToPath(new URL("../../../", import.meta.url)),
    // The real runtime is a download: any executable shows that this one is taken and packed.
    env: { DENORT_BIN: Deno.execPath() },
    timeoutMs: 300_000,
  });
  succeeded("release", made);
  const told = (pattern: RegExp) => made.stdout.matchAll(pattern);
  const names = [...told(/^made: .*\/(.+)$/gm)].map(([, name = ""]) => name);
  const missing = [...told(/^not made: ([^:]+): (.+)$/gm)].map(([, name, why]) => [name, why]);
  return {
    release: { files: names, missing: Object.fromEntries(missing) },
    files,
    empty: async (name) => {
      await Deno.mkdir(`${folder}/${name}`);
      return `${folder}/${name}`;
    },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Where npm and pip bring packages from, or why they cannot. */
export async function registries(): Promise<Environment> {
  for (const program of ["npm", "python3"]) {
    if (!await isInstalled(program)) return { missing: `${program} is not installed` };
  }
  const asked = await run("npm", { args: ["view", `deno@${Deno.version.deno}`, "version"] });
  return asked.code === 0 ? { bin: "" } : { missing: failureOf("npm", asked) };
}

/** Installs the npm package. Returns the path of its command. */
export async function installNpm({ files, empty, release }: MadeRelease): Promise<string> {
  const folder = await empty("npm");
  const name = release.files.find((it) => it.startsWith("milepost-npm-"));
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", `${files}/${name}`];
  const env = { npm_config_cache: await empty("npm-cache") };
  succeeded("npm", await run("npm", { args, cwd: folder, env, timeoutMs: 240_000 }));
  return `${folder}/node_modules/.bin/milepost`;
}

/** Makes a virtual environment with packages of the release. Returns the folder of its programs. */
export async function installWheels(
  { files, empty }: MadeRelease,
  name: string,
  requirement: string,
): Promise<string> {
  const folder = await empty(name);
  const made = await run("python3", { args: ["-m", "venv", folder], timeoutMs: 120_000 });
  succeeded("venv", made);
  const quiet = ["--quiet", "--disable-pip-version-check", "--no-cache-dir"];
  const args = ["install", ...quiet, "--find-links", files, requirement];
  succeeded("pip", await run(`${folder}/bin/pip`, { args, timeoutMs: 240_000 }));
  return `${folder}/bin`;
}

/** Variables of a machine that has nothing but a search path: home, caches and temporary files are in that folder. */
export function bareEnvironment(home: string, path: string): Record<string, string> {
  return { HOME: home, DENO_DIR: `${home}/deno`, TMPDIR: home, PATH: path, LANG: "C.UTF-8" };
}

/** A program that was started, until it is ready. */
export interface Started {
  readonly child: Deno.ChildProcess;
  /** Process id of the program at the end of those that start each other. */
  readonly program: number;
}

/** Starts `standalone --json` by a command, and waits until it is ready. */
export async function startedStandalone(
  command: string,
  env: Record<string, string>,
  { args = [], cwd = env.HOME ?? "/" }: { readonly args?: readonly string[]; cwd?: string } = {},
): Promise<Started> {
  const child = new Deno.Command(command, {
    args: [...args, "standalone", "--json"],
    cwd,
    clearEnv: true,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  assert.partialDeepStrictEqual(JSON.parse(value), { ready: true });
  await reader.cancel();
  let program = child.pid;
  for (let [next] = await childrenOf(program); next !== undefined;) {
    program = next;
    [next] = await childrenOf(program);
  }
  return { child, program };
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`).catch(() => "");
  return text.trim().split(" ").filter((it) => it !== "").map(Number);
}

/** Waits until a process is gone. */
export async function gone(pid: number): Promise<void> {
  await until(`process ${pid} is gone`, async () => {
    const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => undefined);
    return stat === undefined || /\) Z /.test(stat) ? true : undefined;
  }, { timeoutMs: 30_000 });
}
