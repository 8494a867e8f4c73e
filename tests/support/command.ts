/** Runs a program with a time limit and collects what it printed. */

/** Result of a program. */
export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Options of a run. */
export interface CommandOptions {
  args?: string[];
  env?: Record<string, string>;
  cwd?: string;
  stdin?: string;
  /** It is killed after this time, in milliseconds. Default 60000. */
  timeoutMs?: number;
}

/** Runs a program to its end. A program that is killed for its time has a code that is not 0. */
export async function run(program: string, options: CommandOptions = {}): Promise<CommandResult> {
  const child = new Deno.Command(program, {
    args: options.args ?? [],
    env: { NO_COLOR: "1", ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdin: options.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? 60_000);
  if (options.stdin !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(options.stdin));
    await writer.close();
  }
  const { code, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

/** Whether a program is on the PATH. */
export async function isInstalled(program: string): Promise<boolean> {
  const { code } = await run("sh", { args: ["-c", `command -v ${program}`] });
  return code === 0;
}
