/** Programs for Node that drive the browser: nothing of them stays, also if they fail or are killed, while this process lives. */
import { fileURLToPath } from "node:url";
import type { CommandResult } from "../support/command.ts";
import { processesThatMention } from "../support/processes.ts";
import { until } from "../support/until.ts";
import type { Browser } from "./chromium.ts";

/** Time in which a program that is told to end closes its browser, in milliseconds. */
const CLOSING_MS = 10_000;

/** Options of a program. */
export interface ProgramOptions {
  readonly found: Browser;
  /** What it is given besides the places; all is one object of JSON. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
}

/** Ends what still runs of a program, and removes its folder. */
async function clear(folder: string): Promise<void> {
  await until(`the end of the browser in ${folder}`, async () => {
    const left = await processesThatMention(folder);
    // One that has ended meanwhile cannot be killed: the next look does not find it.
    for (const pid of left.keys()) Deno.kill(pid, "SIGKILL");
    return left.size === 0;
  });
  await Deno.remove(folder, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}

/**
 * Runs a program, which opens its browser by `open_browser.mjs`. All that the browser writes is in a folder
 * of its own. The program ends with its standard input: with this process at the latest. If this process
 * is killed, nobody is left to see that the folder is gone: it may stay.
 */
export async function runInBrowser(
  script: URL,
  { found, input, timeoutMs }: ProgramOptions,
): Promise<CommandResult> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-browser-" });
  const child = new Deno.Command("node", {
    args: [fileURLToPath(script), JSON.stringify({ ...found, folder, ...input })],
    env: { NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const endInput = () => child.stdin.close().catch(() => {});
  const timers = [
    setTimeout(endInput, timeoutMs),
    setTimeout(() => child.kill("SIGKILL"), timeoutMs + CLOSING_MS),
  ];
  try {
    const [stdout, stderr, { code }] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.status,
    ]);
    return { code, stdout, stderr };
  } finally {
    timers.forEach(clearTimeout);
    await endInput();
    await clear(folder);
  }
}
