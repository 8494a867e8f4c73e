/** Lines of a log that is followed: each one once, however often its stream breaks off, and only so many. Pure. */
import { logText } from "../readable_text.ts";
import { HOLE, ResumedLog, withoutTime } from "../../../platform/base/resumed_log.ts";

/** Bounds of what is kept: the end of the log. */
export const LOG_BOUNDS = { lines: 4_000, characters: 200_000, lineCharacters: 16_384 } as const;

const shown = (line: string) => logText(line.slice(0, LOG_BOUNDS.lineCharacters));

/** The lines. */
export class LogLines {
  #lines: string[] = [];
  #characters = 0;
  #rest = "";
  readonly #log = new ResumedLog();
  #dropped = 0;

  /** Lines that were kept once, and gave way to newer ones. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Lines that were taken in all. */
  get taken(): number {
    return this.#log.taken;
  }

  /** The text of what is kept. */
  get text(): string {
    const hasRest = this.#rest !== "" && !this.#log.isCatchingUp;
    return [...this.#lines, ...hasRest ? [shown(withoutTime(this.#rest))] : []].join("\n");
  }

  /** Begins to read on. Returns the time from which, and leaves out what comes again; undefined at first. */
  resume(): string | undefined {
    this.#rest = "";
    return this.#log.resume();
  }

  /** Takes a part of the stream. */
  add(part: string): void {
    const lines = (this.#rest + part).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(line);
    if (this.#rest.length > LOG_BOUNDS.lineCharacters) {
      this.#take(this.#rest);
      this.#rest = "";
    }
    this.#drop();
  }

  #take(line: string): void {
    const taken = this.#log.take(line);
    if (taken === undefined) return;
    if (taken.isAfterHole) this.#push(HOLE);
    this.#push(shown(taken.text));
  }

  #push(text: string): void {
    this.#lines.push(text);
    this.#characters += text.length + 1;
  }

  #drop(): void {
    let [count, characters] = [0, this.#characters];
    const left = () => this.#lines.length - count;
    while (left() > LOG_BOUNDS.lines || (characters > LOG_BOUNDS.characters && left() > 1)) {
      characters -= (this.#lines[count]?.length ?? 0) + 1;
      count += 1;
    }
    if (count === 0) return;
    this.#lines.splice(0, count);
    this.#characters = characters;
    this.#dropped += count;
  }
}
