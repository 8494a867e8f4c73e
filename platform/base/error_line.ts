/** Error line of a program's last words: the exception of a traceback, or whatever line says most. Pure. */

/** A line of Python's traceback that names a place; what follows is indented more, up to the exception. */
const FRAME = /^(\s*)(?:\| )?File "[^"]*", line \d+/;
/** What Python says of errors that end nothing. */
const IGNORED = /^\s*Exception ignored in/;
/** Exceptions with which launchers tell of a process that they have started. */
const LAUNCHER = /^\S*(?:ChildFailedError|CalledProcessError|ProcessExitedException)\b/;
/** Lines that say by themselves what was wrong. */
const TELLING =
  /^(?:Fatal Python error|terminate called|panic|fatal error|what\(\)|[A-Za-z_][\w.]*(?:Error|Exception|Interrupt))\s*:/;
/** Rules, and the brackets of a report. */
const EMPTY = /^[\s=\-_*#~^|+<>[\]{}().:]*$/;
/** A rank of torchrun's report, of which only how it ended is known. */
const ROOT_CAUSE =
  /Root Cause \(first observed failure\):[^]*?\brank\s*: (\d+)[^]*?exitcode\s*: (-?\d+)/;

const indentOf = (line: string) => line.length - line.trimStart().length;

/** The exceptions of all tracebacks, in their order. */
function exceptionsOf(lines: readonly string[]): string[] {
  const found: string[] = [];
  let frame: number | undefined;
  for (const [at, line] of lines.entries()) {
    if (IGNORED.test(line) && found.length > 0) break;
    const indent = FRAME.exec(line)?.[1]?.length;
    if (indent !== undefined) {
      frame = indent;
    } else if (frame !== undefined && line.trim() !== "" && indentOf(line) < frame) {
      frame = undefined;
      const text = line.replace(/^[\s|]+/, "");
      const next = text.endsWith(":") ? lines[at + 1]?.trim() ?? "" : "";
      found.push(EMPTY.test(next) ? text : `${text} ${next}`);
    }
  }
  return found;
}

/** How a process of a launcher ended, if that is all that is known. */
function rankOf(text: string): string | undefined {
  const [, rank, code = ""] = ROOT_CAUSE.exec(text) ?? [];
  if (rank === undefined) return undefined;
  const how = code.startsWith("-") ? `was ended by signal ${code.slice(1)}` : `exited ${code}`;
  return `rank ${rank} ${how} first; its log says why`;
}

/** Returns the line that says most of why a program failed; empty if it said nothing. */
export function errorLine(text: string): string {
  const lines = text.split("\n");
  const exceptions = exceptionsOf(lines);
  const own = exceptions.findLast((it) => !LAUNCHER.test(it));
  const said = lines.map((it) => it.trim()).filter((it) => !EMPTY.test(it));
  return own ?? rankOf(text) ?? exceptions.at(-1) ??
    said.findLast((it) => TELLING.test(it)) ?? said.at(-1) ?? "";
}
