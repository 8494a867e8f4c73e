/** Lines of logs that are followed: each one once, however often its stream breaks off, in the order of their times, and only so many. Pure. */
import { logText } from "../../../platform/base/hostile_text.ts";
import { HOLE, ResumedLog, withoutTime } from "../../../platform/base/resumed_log.ts";

/** Bounds of what is kept: the end of the log. */
export const LOG_BOUNDS = { lines: 4_000, characters: 200_000, lineCharacters: 16_384 } as const;

const shown = (line: string) => logText(line.slice(0, LOG_BOUNDS.lineCharacters));

/** The lines that are kept, of one log or of several. */
export class KeptLines {
  readonly #lines: { readonly text: string; readonly at: string }[] = [];
  #characters = 0;
  /** Lines that were kept once, and gave way to newer ones. */
  dropped = 0;

  /** The text of what is kept. */
  get text(): string {
    return this.#lines.map(({ text }) => text).join("\n");
  }

  /** Adds a line behind all that are not newer. */
  push(text: string, at: string): void {
    let place = this.#lines.length;
    while (place > 0 && (this.#lines[place - 1]?.at ?? "") > at) place -= 1;
    this.#lines.splice(place, 0, { text, at });
    this.#characters += text.length + 1;
  }

  /** Drops the oldest lines beyond the bounds. */
  drop(): void {
    let [count, characters] = [0, this.#characters];
    const left = () => this.#lines.length - count;
    while (left() > LOG_BOUNDS.lines || (characters > LOG_BOUNDS.characters && left() > 1)) {
      characters -= (this.#lines[count]?.text.length ?? 0) + 1;
      count += 1;
    }
    if (count === 0) return;
    this.#lines.splice(0, count);
    this.#characters = characters;
    this.dropped += count;
  }
}

/** The lines of one log. */
export class LogLines {
  #rest = "";
  readonly #log = new ResumedLog();
  /** The time of the newest line; one without a time stays behind it. */
  #at = "";

  /** `before`: what each line begins with, as where those of other logs are kept beside it. */
  constructor(readonly kept = new KeptLines(), private readonly before = "") {}

  /** Lines that were taken in all. */
  get taken(): number {
    return this.#log.taken;
  }

  /** The text of what is kept. */
  get text(): string {
    const { text } = this.kept;
    if (this.#rest === "" || this.#log.isCatchingUp || this.before !== "") return text;
    return `${text}${text === "" ? "" : "\n"}${shown(withoutTime(this.#rest))}`;
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
    this.kept.drop();
  }

  #take(line: string): void {
    const taken = this.#log.take(line);
    if (taken === undefined) return;
    this.#at = taken.at ?? this.#at;
    if (taken.isAfterHole) this.kept.push(this.before + HOLE, this.#at);
    this.kept.push(this.before + shown(taken.text), this.#at);
  }
}
