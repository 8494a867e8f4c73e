/** This program as a command, for the pods that the kubelet runs. */
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { shellQuoted } from "../platform/base/shell_words.ts";

/** Name of the command in containers, as in the image. */
const COMMAND = "milepost";

/** This file in the sources; a bundle has all of them in one file, whose URL is another. */
const SOURCE = "/app/executable.ts";

/** Arguments of Deno that run the program from its sources or from a bundle. */
function denoArguments(): string[] {
  const url = import.meta.url;
  if (!url.endsWith(SOURCE)) return ["run", "-A", "--no-config", "--no-lock", fileURLToPath(url)];
  return ["run", "-A", fileURLToPath(new URL("../main.ts", url))];
}

/** The cache of modules of this process, which the sources need. */
function denoFolder(): string | undefined {
  const { DENO_DIR, XDG_CACHE_HOME, HOME } = Deno.env.toObject();
  if (DENO_DIR) return DENO_DIR;
  const cache = XDG_CACHE_HOME || (HOME && `${HOME}/.cache`);
  return cache && `${cache}/deno`;
}

/**
 * Puts this program into a folder as a command: a link to the executable, or a script that runs Deno
 * with the sources or the bundle. It replaces one that is there.
 */
export function provideCommand(folder: string): void {
  const file = `${folder}/${COMMAND}`;
  rmSync(file, { force: true });
  if (Deno.build.standalone) return Deno.symlinkSync(Deno.execPath(), file);
  const cache = denoFolder();
  const line = [
    ...cache ? [`DENO_DIR=${shellQuoted(cache)}`] : [],
    "exec",
    ...[Deno.execPath(), ...denoArguments()].map(shellQuoted),
    '"$@"',
  ].join(" ");
  Deno.writeTextFileSync(file, `#!/bin/sh\n${line}\n`, { mode: 0o700 });
}
