/** The bundle of the version that began the present protocol between replicas, built once from the history of the repository. */
import { run } from "../../support/command.ts";

/** The last commit of the previous version. */
export const PREVIOUS = "f1a521439323d1632a2eb141dba416f0f8731644";
const ROOT = new URL("../../../", import.meta.url).pathname;

async function must(command: string, args: string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(command, { args, cwd, timeoutMs: 300_000 });
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}: ${stderr}`);
  return stdout;
}

/** Whether the history of this clone reaches back to that commit. */
async function hasHistory(): Promise<boolean> {
  const args = ["cat-file", "-e", `${PREVIOUS}^{commit}`];
  return (await run("git", { args, cwd: ROOT })).code === 0;
}

/**
 * Returns the path of the previous version's bundle, and builds it if the cache does not have it yet. Throws
 * if the clone is too shallow, and says what to fetch.
 */
export async function previousBundle(): Promise<string> {
  const cache = `${Deno.env.get("HOME")}/.cache/milepost/previous`;
  const path = `${cache}/${PREVIOUS}.js`;
  if (await Deno.stat(path).then(() => true, () => false)) return path;
  if (!await hasHistory()) {
    throw new Error(
      `this clone has no commit ${PREVIOUS}, whose version runs beside this one: ` +
        "run `git fetch --unshallow`, or `git fetch origin " + `${PREVIOUS}\``,
    );
  }
  await Deno.mkdir(cache, { recursive: true });
  const folder = await Deno.makeTempDir({ dir: cache, prefix: "build-" });
  try {
    await must("git", ["archive", `--output=${folder}/source.tar`, PREVIOUS], ROOT);
    await must("tar", ["-xf", "source.tar"], folder);
    await must(Deno.execPath(), ["run", "-A", "build/bundle.ts"], folder);
    await Deno.rename(`${folder}/dist/milepost.js`, path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return path;
}
