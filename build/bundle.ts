/**
 * Builder of `dist/milepost.js`: the program with everything that it imports and every file that it
 * carries, in one file that any Deno of the same version runs, without configuration, cache or
 * network. The executable is made of this file (`build/compile.ts`).
 */
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Default path of the bundle. */
export const BUNDLE = `${ROOT}dist/milepost.js`;

/**
 * How V8 collects: objects that live shortly get 48 MB, so that most of a push is gone before it is
 * looked at, and the rest is collected when it has grown by half, not when it is several times as
 * large. `docs/decisions/0019-memory.md` has what that saves and costs, and what was tried.
 * With `gc` the program collects once by itself, when its caches are filled.
 */
export const V8_FLAGS = "--v8-flags=--max-semi-space-size=16,--heap-growing-percent=50,--expose-gc";

/** Arguments of Deno that run the bundle with what the executable has: its permissions, its flags, and nothing else. */
export const RUN_ARGUMENTS = [
  ...["run", "--quiet", "--allow-all", "--no-config", "--no-lock", "--no-remote", "--cached-only"],
  V8_FLAGS,
] as const;

/**
 * Bundles `main.ts` into `output`, minified, and what tells the lines of a stack trace into
 * `output`.map beside it. Throws with the bundler's message if it fails.
 */
export async function bundle(output: string = BUNDLE): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--frozen", "--platform=deno", "--minify", "--sourcemap=external"],
      `--output=${output}`,
      "main.ts",
    ],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    throw new Error(`deno bundle failed: ${new TextDecoder().decode(stderr).trim()}`);
  }
}

if (import.meta.main) {
  await bundle();
  await Deno.stdout.write(new TextEncoder().encode(`${BUNDLE}\n`));
}
