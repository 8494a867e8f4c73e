/** Error line of a program's last words: the exception of a traceback, or whatever line says most. Pure. */

/** What PyTorch puts before each line of a rank. */
const RANK = /^\[rank\d+\]:\s?/;
/** A warning of PyTorch's own, which may stand between the lines of a traceback. */
const LOGGED_WARNING = /^(?:\[W[\d ]|W\d{4} )/;
/** A warning, which ends nothing. */
const WARNING = /^(?:\S+:\d+: )?\w*warning:/i;
/** A line of Python's traceback that names a place; what follows is indented more, up to the exception. */
const FRAME = /^(\s*)(?:\| )?File "[^"]*", line \d+(?:,|\s*$)/;
/** What Python says before an error that does not end the program. */
const IGNORED =
  /^\s*(?:Exception ignored (?:in|while)\b|Error in atexit\._run_exitfuncs:|Exception in thread .*:$)/;
/** What stands between exceptions of which one led to the other. */
const CHAINED = /^[\s|]*(?:During handling of the above|The above exception was the direct cause)/;
/** What only follows from an error: launchers that tell of a process, and a runtime that gives up. */
const AFTERMATH =
  /^(?:\S*(?:ChildFailedError|CalledProcessError|ProcessExitedException)\b|Fatal Python error: Aborted|terminate called (?:recursively|without))/;
/** Lines with which a runtime says why it ends the program itself. */
const CRASH = /^(?:(?:Fatal Python error|panic|fatal error|what\(\))\s*:|terminate called\b)/;
/** Lines that name an exception. */
const RAISED = /^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)\s*:/;
/** Rules, and the brackets of a report. */
const EMPTY = /^[\s=\-_*#~^|+<>[\]{}().:]*$/;
/** A rank of torchrun's report, of which only how it ended is known. */
const ROOT_CAUSE =
  /Root Cause \(first observed failure\):[^]*?\brank\s*: (\d+)[^]*?exitcode\s*: (-?\d+)/;

const indentOf = (line: string) => line.length - line.trimStart().length;

/** The lines of a program, without what PyTorch has put between and before them. */
const linesOf = (text: string) =>
  text.split("\n").map((it) => it.replace(RANK, "")).filter((it) => !LOGGED_WARNING.test(it));

/** A line that tells of an error. */
interface Told {
  readonly text: string;
  /** The place behind it among the lines, or behind a second one that is a part of it. */
  readonly end: number;
  /** Whether the program went on. */
  readonly isIgnored: boolean;
}

/** The exceptions of all tracebacks, and other lines that tell of errors, in their order. */
function toldBy(lines: readonly string[]): Told[] {
  const found: Told[] = [];
  let frame: number | undefined;
  let isIgnored = false;
  for (const [at, line] of lines.entries()) {
    const text = line.replace(/^[\s|]+/, "").trimEnd();
    const indent = FRAME.exec(line)?.[1]?.length;
    const isTold = frame === undefined
      ? CRASH.test(text) || RAISED.test(text)
      : text !== "" && indentOf(line) < frame;
    if (indent !== undefined) {
      frame = indent;
    } else if (IGNORED.test(line) || (found.at(-1)?.isIgnored && CHAINED.test(line))) {
      [isIgnored, frame] = [true, undefined];
    } else if (isTold) {
      const next = text.endsWith(":") ? lines[at + 1]?.trim() ?? "" : "";
      const isOne = EMPTY.test(next);
      const end = at + (isOne ? 1 : 2);
      found.push({ text: isOne ? text : `${text} ${next}`, end, isIgnored });
      [isIgnored, frame] = [false, undefined];
    }
  }
  return found;
}

/** The last line that is no aftermath of another, if there is one. */
const lastCause = (told: readonly Told[]) => told.findLast(({ text }) => !AFTERMATH.test(text));
const lastOf = (told: readonly Told[]) => lastCause(told)?.text;

/** How a process of a launcher ended, if that is all that is known. */
function rankOf(text: string): string | undefined {
  const [, rank, code = ""] = ROOT_CAUSE.exec(text) ?? [];
  if (rank === undefined) return undefined;
  const how = code.startsWith("-") ? `was ended by signal ${code.slice(1)}` : `exited ${code}`;
  return `rank ${rank} ${how} first; ${ONLY_IN_LOG}`;
}

/** What an error line ends with that says only how the process of a launcher ended. */
export const ONLY_IN_LOG = "its log says why";

/** Returns the lines up to the one that tells last of an error that ends a program, at most so many; empty if none does. */
export function linesToError(text: string, most: number): string {
  const lines = linesOf(text);
  const { end = 0 } = lastCause(toldBy(lines).filter(({ isIgnored }) => !isIgnored)) ?? {};
  return lines.slice(Math.max(0, end - most), end).join("\n");
}

/** Returns the line that says most of why a program failed; empty if it said nothing. */
export function errorLine(text: string): string {
  const lines = linesOf(text);
  const told = toldBy(lines);
  const said = lines.map((it) => it.trim()).filter((it) => !EMPTY.test(it) && !WARNING.test(it));
  return lastOf(told.filter(({ isIgnored }) => !isIgnored)) ?? rankOf(text) ??
    lastOf(told) ?? told.at(-1)?.text ?? said.at(-1) ?? "";
}

/** Returns the line with which a runtime ended its program by a signal; empty if none did. */
export function crashLine(text: string): string {
  const told = toldBy(linesOf(text)).filter(({ text }) => CRASH.test(text));
  return lastOf(told) ?? told.at(-1)?.text ?? "";
}
