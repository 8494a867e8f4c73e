/**
 * Makes `dist/milepost.js`: the program with everything that it imports and every file that it
 * carries, in one file that any Deno of the same version runs, without configuration, cache or
 * network. The executable is made of this file (`build/compile.ts`).
 */
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Where the bundle goes unless a caller wants it elsewhere. */
export const BUNDLE = `${ROOT}dist/milepost.js`;

/**
 * The flag under which the bundle needs least memory: small code goes before fast code. Measured in
 * MB of RSS after import, warm (with the code that the runtime keeps) and cold: source 97 and 140,
 * bundle 160 and 358, minified 91 and 122, minified with this flag 86 and 116. `--max-lazy` makes
 * V8 refuse the code that was kept (117, warm or cold).
 */
export const V8_FLAGS = "--v8-flags=--optimize-for-size";

/**
 * Bundles `main.ts` into `output`, minified, and what tells the lines of a stack trace into
 * `output`.map beside it. Throws with what the bundler said where it fails.
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
