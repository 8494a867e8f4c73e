/** Lines of a log that is followed: each one once, however often its stream breaks off, and only so many. Pure. */
import { logText } from "./readable_text.ts";

/** Bounds of what is kept: the end of the log. */
export const LOG_BOUNDS = { lines: 4_000, characters: 200_000, lineCharacters: 16_384 } as const;

/** What stands where lines may be missing. */
export const HOLE = "– – – lines may be missing here – – –";

/** A line as the server gives it with timestamps. */
const STAMPED = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[-+]\d\d:\d\d) ?/;

/** A time by which lines are put in order, as a text; undefined if the line has none. */
interface Stamp {
  readonly key: string;
  readonly ms: number;
  readonly length: number;
}

function stampOf(line: string): Stamp | undefined {
  const [whole, second, part = "", zone] = STAMPED.exec(line) ?? [];
  if (whole === undefined) return undefined;
  const ms = Date.parse(`${second}${zone}`);
  if (Number.isNaN(ms)) return undefined;
  const key = `${String(ms).padStart(16, "0")}${part.padEnd(9, "0")}`;
  return { key, ms: ms + Number(part.padEnd(3, "0").slice(0, 3)), length: whole.length };
}

/** The lines. */
export class LogLines {
  #lines: string[] = [];
  #characters = 0;
  #rest = "";
  /** The newest time, and how many lines have it. */
  #last: Stamp | undefined;
  #atLast = 0;
  /** Lines at the newest time that come once more; undefined if none is left out. */
  #again: number | undefined;
  #hasOverlap = false;
  #dropped = 0;
  #taken = 0;

  /** Lines that were kept once, and gave way to newer ones. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Lines that were taken in all. */
  get taken(): number {
    return this.#taken;
  }

  /** The text of what is kept. */
  get text(): string {
    const rest = this.#rest === "" ? [] : [this.#shown(this.#rest, stampOf(this.#rest))];
    return [...this.#lines, ...this.#again === undefined ? rest : []].join("\n");
  }

  /** Begins to read on. Returns the time from which, and leaves out what comes again; undefined at first. */
  resume(): string | undefined {
    this.#rest = "";
    if (this.#last === undefined) return undefined;
    this.#again = this.#atLast;
    this.#hasOverlap = false;
    return new Date(this.#last.ms).toISOString();
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
    const stamp = stampOf(line);
    if (this.#isKnown(stamp)) return;
    if (stamp !== undefined) {
      const isSame = stamp.key === this.#last?.key;
      if (isSame) this.#atLast += 1;
      else if (this.#last === undefined || stamp.key > this.#last.key) {
        this.#last = stamp;
        this.#atLast = 1;
      }
    }
    this.#taken += 1;
    this.#push(this.#shown(line, stamp));
  }

  /** Returns whether a line came before the stream broke off. */
  #isKnown(stamp: Stamp | undefined): boolean {
    if (this.#again === undefined || stamp === undefined || this.#last === undefined) return false;
    if (stamp.key < this.#last.key) return true;
    if (stamp.key === this.#last.key && this.#again > 0) {
      this.#again -= 1;
      this.#hasOverlap = true;
      return true;
    }
    // The last known line did not come again: what stood behind it may be gone, too.
    if (!this.#hasOverlap) this.#push(HOLE);
    this.#again = undefined;
    return false;
  }

  #shown(line: string, stamp: Stamp | undefined): string {
    return logText(line.slice(stamp?.length ?? 0).slice(0, LOG_BOUNDS.lineCharacters));
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
