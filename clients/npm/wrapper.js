#!/usr/bin/env node
/**
 * Wrapper of the program: finds the Deno that npm has installed for this machine, runs the bundle with it, hands on signals and
 * the exit code. The one of Deno's own package waits in `spawnSync`, which hears no signal, and needs install scripts.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = dirname(fileURLToPath(import.meta.url));
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"];
const WHERE = "Linux with glibc, on x64 or arm64";

/** Returns what this machine is, and whether it has another C library than glibc. */
function machine() {
  const { platform, arch } = process;
  if (platform !== "linux") {
    return { target: `${platform}-${arch}`, words: `${platform} on ${arch}` };
  }
  process.report.excludeNetwork = true;
  const report = process.report.getReport();
  const { header } = typeof report === "string" ? JSON.parse(report) : report;
  const isGlibc = Boolean(header.glibcVersionRuntime);
  const words = isGlibc ? `Linux on ${arch}` : `Linux on ${arch} with another C library`;
  return { target: `linux-${arch}-${isGlibc ? "glibc" : "musl"}`, words };
}

/** Returns the path of Deno's executable; undefined if npm has installed none for this machine. */
function denoFor(target) {
  try {
    const besideDeno = createRequire(createRequire(import.meta.url).resolve("deno/package.json"));
    const folder = dirname(besideDeno.resolve(`@deno/${target}/package.json`));
    return join(folder, process.platform === "win32" ? "deno.exe" : "deno");
  } catch {
    return undefined;
  }
}

/** Returns the id of a process's parent, and its name; undefined without such a process, or on a system without /proc. */
function processOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const end = stat.lastIndexOf(")");
    return {
      name: stat.slice(stat.indexOf("(") + 1, end),
      parent: Number(stat.slice(end + 2).split(" ")[1]),
    };
  } catch {
    return undefined;
  }
}

/** Calls `onEnd` when the npx that started this wrapper is gone: npm hands no signal on to what it runs in a shell. */
function followNpx(onEnd) {
  const shell = process.env.npm_lifecycle_event === "npx" ? processOf(process.ppid) : undefined;
  if (shell === undefined || !/^(ba|da|z|k)?sh$/.test(shell.name)) return;
  const { ppid } = process;
  const timer = setInterval(() => {
    if (processOf(ppid)?.parent === shell.parent) return;
    clearInterval(timer);
    onEnd();
  }, 250);
}

function fail(text) {
  process.stderr.write(`milepost: ${text}\n`);
  process.exit(1);
}

function main() {
  const { target, words } = machine();
  const deno = denoFor(target);
  const isTried = target.endsWith("-glibc");
  if (deno === undefined) {
    fail(
      isTried && ["x64", "arm64"].includes(process.arch)
        ? `npm has not installed @deno/${target}, which runs it: install again, without --omit=optional`
        : `needs ${WHERE}; this is ${words}`,
    );
  }
  if (!isTried) {
    process.stderr.write(`milepost: is for ${WHERE}; on ${words} nobody has tried it\n`);
  }
  const launch = JSON.parse(readFileSync(join(FOLDER, "launch.json"), "utf8"));
  const args = [...launch.arguments, join(FOLDER, "milepost.js"), ...process.argv.slice(2)];
  const env = { ...process.env, DENO_NO_UPDATE_CHECK: "1", MILEPOST_WRAPPER_PID: `${process.pid}` };
  const child = spawn(deno, args, { stdio: "inherit", env });
  const handOn = (signal) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, handOn);
  followNpx(() => handOn("SIGTERM"));
  child.on("error", (error) => fail(`cannot start ${deno}: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    // It ends as the program did, so that a shell sees the same.
    for (const one of SIGNALS) process.off(one, handOn);
    process.exitCode = 128 + constants.signals[signal];
    process.kill(process.pid, signal);
  });
}

main();
