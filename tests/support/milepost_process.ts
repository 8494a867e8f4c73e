/** Milepost as its users run it: a process of its own, from the command line. */
import { z } from "zod";
import { type CommandResult, run } from "./command.ts";

const main = new URL("../../main.ts", import.meta.url).pathname;

/** Runs a command of Milepost to its end. */
export function milepost(
  args: string[],
  options: { env?: Record<string, string>; timeoutMs?: number; stdin?: string } = {},
): Promise<CommandResult> {
  return run(Deno.execPath(), { args: ["run", "-A", "--no-check", main, ...args], ...options });
}

/** The same as a command of a shell. */
export const milepostCommand = (...args: string[]): string =>
  [Deno.execPath(), "run", "-A", "--no-check", main, ...args].join(" ");

const readySchema = z.object({
  ready: z.literal(true),
  server: z.string(),
  status: z.string(),
  /** Address of the page, with a code. */
  ui: z.string().optional(),
  kubeconfig: z.string(),
  mountNamespaces: z.boolean(),
  rewritingReason: z.string().optional(),
});
/** The line of `standalone --json`. */
export type ReadyLine = z.infer<typeof readySchema>;

/** A `standalone` that runs. */
export interface StandaloneProcess {
  readonly ready: ReadyLine;
  readonly pid: number;
  /** From the start of the process to its ready line, in milliseconds. */
  readonly startedInMs: number;
  /** Its output on standard error so far. */
  readonly log: () => string;
  /** Sends a signal, waits for the end, and returns the exit code. */
  stop(signal?: Deno.Signal): Promise<number>;
}

/** Reads a stream to its end; `text()` is what came so far. */
function collect(stream: ReadableStream<Uint8Array>, onText: (all: string) => void = () => {}) {
  let text = "";
  const done = (async () => {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      text += part;
      onText(text);
    }
  })();
  return { text: () => text, done };
}

/** Starts `standalone --json` and waits for its ready line. */
export async function startStandaloneProcess(
  args: string[],
  env: Readonly<Record<string, string>> = {},
): Promise<StandaloneProcess> {
  const began = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", main, "standalone", "--json", ...args],
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = collect(child.stderr);
  const line = Promise.withResolvers<string>();
  const output = collect(child.stdout, (all) => {
    const end = all.indexOf("\n");
    if (end >= 0) line.resolve(all.slice(0, end));
  });
  const timer = setTimeout(() => line.reject(new Error("no ready line in 60 s")), 60_000);
  output.done.then(() => line.reject(new Error("it ended before it was ready")));
  try {
    const ready = readySchema.parse(JSON.parse(await line.promise));
    const startedInMs = performance.now() - began;
    return {
      ready,
      pid: child.pid,
      startedInMs,
      log: errors.text,
      async stop(signal = "SIGTERM") {
        child.kill(signal);
        const limit = setTimeout(() => child.kill("SIGKILL"), 30_000);
        const { code } = await child.status;
        clearTimeout(limit);
        await Promise.all([errors.done, output.done]);
        return code;
      },
    };
  } catch (error) {
    child.kill("SIGKILL");
    await child.status;
    await Promise.allSettled([errors.done, output.done]);
    throw new Error(`standalone did not start: ${errors.text()}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
