/** Log that is read on where its stream broke off: each line once, by the time before it. Pure. */

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

/** Returns a line without the time before it. */
export const withoutTime = (line: string): string => line.slice(stampOf(line)?.length ?? 0);

/** What has come of a log. */
export class ResumedLog {
  /** The newest time, and how many lines have it. */
  #last: Stamp | undefined;
  #atLast = 0;
  /** Lines at the newest time that come once more; undefined if none is left out. */
  #again: number | undefined;
  #hasOverlap = false;
  #taken = 0;

  /** Lines that came, each once. */
  get taken(): number {
    return this.#taken;
  }

  /** Begins to read on. Returns the time from which, and leaves out what comes again; undefined at first. */
  resume(): string | undefined {
    if (this.#last === undefined) return undefined;
    this.#again = this.#atLast;
    this.#hasOverlap = false;
    return new Date(this.#last.ms).toISOString();
  }

  /** Whether what comes now may have come before. */
  get isCatchingUp(): boolean {
    return this.#again !== undefined;
  }

  /** Takes a line with its time. Returns its text, whether lines may be missing before it, and its time as a text that sorts; undefined if it came before. */
  take(line: string) {
    const stamp = stampOf(line);
    if (this.#isKnown(stamp)) return undefined;
    const wasCatchingUp = this.isCatchingUp && stamp !== undefined;
    // The last known line did not come again: what stood behind it may be gone, too.
    const isAfterHole = wasCatchingUp && !this.#hasOverlap;
    if (wasCatchingUp) this.#again = undefined;
    if (stamp !== undefined) this.#count(stamp);
    this.#taken += 1;
    return { text: line.slice(stamp?.length ?? 0), isAfterHole, at: stamp?.key };
  }

  #count(stamp: Stamp): void {
    if (stamp.key === this.#last?.key) this.#atLast += 1;
    else if (this.#last === undefined || stamp.key > this.#last.key) {
      this.#last = stamp;
      this.#atLast = 1;
    }
  }

  /** Returns whether a line came before the stream broke off. */
  #isKnown(stamp: Stamp | undefined): boolean {
    if (this.#again === undefined || stamp === undefined || this.#last === undefined) return false;
    if (stamp.key < this.#last.key) return true;
    if (stamp.key > this.#last.key || this.#again === 0) return false;
    this.#again -= 1;
    this.#hasOverlap = true;
    return true;
  }
}
