/** Recordings of a terminal: asciicast v2, and the screens that it shows. */
import { z } from "zod";

/** What was written to a terminal, and when, in seconds. */
export interface Output {
  readonly at: number;
  readonly text: string;
}

/** A recording. */
export interface Recording {
  readonly width: number;
  readonly height: number;
  readonly outputs: readonly Output[];
}

const header = z.object({ version: z.literal(2), width: z.number(), height: z.number() });
const event = z.tuple([z.number(), z.literal("o"), z.string()]);

/** Reads asciicast v2: a header, then an event on each line. */
export function parseCast(text: string): Recording {
  const [first = "", ...rest] = text.trimEnd().split("\n");
  const { width, height } = header.parse(JSON.parse(first));
  const outputs = rest.map((line) => {
    const [at, , written] = event.parse(JSON.parse(line));
    return { at, text: written };
  });
  return { width, height, outputs };
}

/** Writes asciicast v2. */
export function formatCast({ width, height, outputs }: Recording): string {
  const events = outputs.map(({ at, text }) => [Number(at.toFixed(3)), "o", text]);
  return [{ version: 2, width, height }, ...events].map((it) => `${JSON.stringify(it)}\n`).join("");
}

/** The lines of a screen from a time on. */
export interface Screen {
  readonly at: number;
  readonly lines: readonly string[];
}

// deno-lint-ignore no-control-regex
const TOKEN = /\x1b\[(\d*)([A-Za-z])|\r\n|\n|\r|[^\x1b\r\n]+/g;

/** Writes to a screen: text, line breaks, cursor up, and erasing a line or everything below. */
function write(screen: { lines: string[]; row: number; column: number }, text: string): void {
  for (const [token, count = "", command] of text.matchAll(TOKEN)) {
    if (command === "A") screen.row = Math.max(0, screen.row - Number(count || 1));
    else if (command === "K") screen.lines[screen.row] = "";
    else if (command === "J") screen.lines.length = screen.row;
    else if (command !== undefined) continue;
    else if (token === "\r") screen.column = 0;
    else if (token.endsWith("\n")) {
      screen.row += 1;
      screen.column = 0;
    } else {
      const line = (screen.lines[screen.row] ?? "").padEnd(screen.column);
      screen.lines[screen.row] = line.slice(0, screen.column) + token +
        line.slice(screen.column + token.length);
      screen.column += token.length;
    }
  }
}

/** The screens of a recording, one after each output. */
export function screensOf({ outputs }: Recording): Screen[] {
  const screen = { lines: [""], row: 0, column: 0 };
  return outputs.map(({ at, text }) => {
    write(screen, text);
    return { at, lines: Array.from(screen.lines, (line) => line ?? "") };
  });
}
