/**
 * Builder of the executable: the bundle of `build/bundle.ts` inside Deno's runtime. `deno compile` loads
 * that runtime ("denort") from the network unless `DENORT_BIN` names a file that has it.
 *
 *   deno task compile [--target TRIPLE] [--output FILE]
 */
import { Command, CommanderError } from "commander";
import { fileURLToPath } from "node:url";
import { messageOf } from "../platform/kube/errors.ts";
import { BUNDLE, bundle, V8_FLAGS } from "./bundle.ts";

const DIST = fileURLToPath(new URL("../dist/", import.meta.url));

/** The machines that the executable is made for, by the names that images give them. */
export const TARGETS = {
  amd64: "x86_64-unknown-linux-gnu",
  arm64: "aarch64-unknown-linux-gnu",
} as const;

/** Options of the compilation. */
export interface CompileOptions {
  /** A target triple, or one of {@link TARGETS}' names; the machine's own without it. */
  readonly target?: string | undefined;
  /** The file to write; `dist/milepost` without it. */
  readonly output?: string | undefined;
  /** The bundle to put in. */
  readonly source: string;
  /** Deno's runtime as a file; without it `DENORT_BIN` of the environment, else a download. */
  readonly runtime?: string;
}

function tripleOf(target: string): string {
  return target === "amd64" || target === "arm64" ? TARGETS[target] : target;
}

/** The arguments of `deno` that compile. */
export function compileArguments({ target, output, source }: CompileOptions): string[] {
  return [
    "compile",
    "--no-config",
    "--no-check",
    "--no-remote",
    "--allow-all",
    V8_FLAGS,
    ...(target === undefined ? [] : [`--target=${tripleOf(target)}`]),
    `--output=${output ?? `${DIST}milepost`}`,
    source,
  ];
}

/** One line about why `deno compile` failed. */
export function explainFailure(stderr: string): string {
  const local = /Could not find denort at '([^']*)'/.exec(stderr);
  if (local) return `DENORT_BIN: there is no file ${local[1]}`;
  const runtime = /https?:\/\/\S*denort\S*\.zip/.exec(stderr);
  const unreachable = /error sending request|Download.*failed|dns error|timed out/i.test(stderr);
  if (runtime && unreachable) {
    return `cannot fetch the executable's runtime from ${runtime[0]}; set DENORT_BIN ` +
      "to a denort of this version, or run `deno task bundle`, which needs none";
  }
  const lines = stderr.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const from = lines.findIndex((line) => line.startsWith("error:"));
  return `deno compile failed: ${lines.slice(Math.max(from, 0)).join(" ")}`;
}

/** Compiles. Throws an error whose message is one line. */
export async function compile(options: CompileOptions): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: compileArguments(options),
    env: {
      NO_COLOR: "1",
      ...(options.runtime === undefined ? {} : { DENORT_BIN: options.runtime }),
    },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(explainFailure(new TextDecoder().decode(stderr)));
}

async function main(args: string[]): Promise<number> {
  const command = new Command("compile")
    .option("--target <target>", "amd64, arm64 or a target triple of deno compile")
    .option("--output <file>", "the executable to write", `${DIST}milepost`)
    .exitOverride().configureOutput({ outputError: () => {} });
  try {
    const { target, output } = command.parse(args, { from: "user" }).opts<
      { target?: string; output: string }
    >();
    await bundle();
    await compile({ target, output, source: BUNDLE });
    await Deno.stdout.write(new TextEncoder().encode(`${output}\n`));
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    await Deno.stderr.write(new TextEncoder().encode(`compile: ${messageOf(error)}\n`));
    return error instanceof CommanderError ? 2 : 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
