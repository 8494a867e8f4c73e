/** A program at a terminal of its own, which `script` gives it: what it shows, and keys for it. */
import { until } from "./until.ts";

/** The program. */
export interface AtTerminal extends AsyncDisposable {
  /** All that it has written. */
  text(): string;
  /** Waits until it has written something that matches, since the last time that this was waited for. */
  shows(pattern: RegExp): Promise<void>;
  type(keys: string): Promise<void>;
  /** Waits for its end, and returns its exit code. */
  ended(): Promise<number>;
}

/** Starts a command of a shell at a terminal of 100 columns and 24 rows. */
export function atTerminal(command: string, env: Readonly<Record<string, string>>): AtTerminal {
  const child = new Deno.Command("script", {
    args: ["-qfec", `stty cols 100 rows 24; exec ${command}`, "/dev/null"],
    env: { TERM: "xterm", NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const keys = child.stdin.getWriter();
  let text = "";
  let seen = 0;
  const reading = (async () => {
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) text += part;
  })();
  const ended = async () => {
    const { code } = await child.status;
    await reading;
    return code;
  };
  return {
    text: () => text,
    async shows(pattern) {
      await until(`${pattern} on the screen`, () => pattern.test(text.slice(seen)));
      seen = text.length;
    },
    type: (it) => keys.write(new TextEncoder().encode(it)),
    ended,
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGTERM");
      } catch {
        // It has ended.
      }
      await keys.close().catch(() => {});
      await ended();
    },
  };
}
