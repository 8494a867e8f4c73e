/** Python virtual environment for the tests of clients, made once and kept outside the checkout. */
import { isInstalled, run } from "../support/command.ts";

/** Packages at the versions that are supported (docs/reference/support.md). */
export type PythonPackage =
  | "kubeflow==0.5.0"
  | "transformers==5.23.0"
  | "schemathesis==4.32.5"
  | "kubeflow-katib==0.19.0";

/** Folder of the environment: in the user's cache, keyed by its content. */
function folder(name: PythonPackage): string {
  const home = Deno.env.get("HOME") ?? "/tmp";
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${home}/.cache`;
  return `${cache}/milepost/python/${name.replaceAll("==", "-")}`;
}

/**
 * The folder of an environment with that package, complete, or why there is none. Making one takes
 * about a minute, once on a machine.
 */
export async function pythonEnvironment(
  name: PythonPackage,
): Promise<{ bin: string } | { missing: string }> {
  if (!await isInstalled("python3")) return { missing: "python3 is not installed" };
  const target = folder(name);
  const marker = `${target}/complete`;
  if (await exists(marker)) return { bin: `${target}/bin` };
  await Deno.remove(target, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  const made = await run("python3", { args: ["-m", "venv", target], timeoutMs: 120_000 });
  if (made.code !== 0) return { missing: `python3 -m venv failed: ${made.stdout}${made.stderr}` };
  const installed = await run(`${target}/bin/pip`, {
    args: ["install", "--quiet", "--disable-pip-version-check", name],
    timeoutMs: 600_000,
  });
  if (installed.code !== 0) return { missing: `pip failed: ${installed.stderr}` };
  await Deno.writeTextFile(marker, "");
  return { bin: `${target}/bin` };
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
