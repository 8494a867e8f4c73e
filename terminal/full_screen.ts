/** Full screen of a terminal: taken, drawn on, and given back whatever ends the program. */
import { PASTE } from "./keys.ts";
import type { Size } from "./plots.ts";

/** The parts of the terminal that are used; {@link processTerminal} is that of this process. */
export interface Terminal {
  write(text: string): void;
  size(): Size;
  setRaw(isRaw: boolean): void;
  /** Calls the listener with what is typed until `signal` aborts. Resolves when the terminal has gone, or is closed. */
  onInput(listener: (text: string) => void, signal?: AbortSignal): Promise<void>;
  onResize(listener: () => void, signal: AbortSignal): void;
  /** Calls the listener when the program is about to end by an error that nobody catches. */
  onCrash(listener: () => void, signal: AbortSignal): void;
}

const ENTER = `\x1b[?1049h\x1b[?25l${PASTE.on}`;
const LEAVE = `${PASTE.off}\x1b[0m\x1b[?25h\x1b[?1049l`;

/** Takes the screen. Dispose it to give it back. */
export function takeScreen(terminal: Pick<Terminal, "write" | "setRaw">) {
  let drawn: readonly string[] = [];
  let isOver = false;
  terminal.setRaw(true);
  terminal.write(ENTER);
  return {
    /** Draws the lines that differ from those before. */
    draw(lines: readonly string[]): void {
      if (isOver) return;
      const changes = lines.flatMap((line, row) =>
        // Erased first: behind a line that fills all columns its last one would be.
        line === drawn[row] ? [] : [`\x1b[${row + 1};1H\x1b[2K${line}\x1b[0m`]
      );
      drawn = lines;
      if (changes.length > 0) terminal.write(changes.join(""));
    },
    /** Rings the terminal's bell. */
    ring(): void {
      if (!isOver) terminal.write("\x07");
    },
    /** Draws all of them next time: the terminal has another size. */
    forget(): void {
      drawn = [];
      if (!isOver) terminal.write("\x1b[2J");
    },
    [Symbol.dispose](): void {
      if (isOver) return;
      isOver = true;
      terminal.write(LEAVE);
      terminal.setRaw(false);
    },
  };
}

/** A screen that is drawn on. */
export type FullScreen = ReturnType<typeof takeScreen>;
