/** Keys of a terminal, from the bytes that it sends. Pure. */

const SEQUENCES: Readonly<Record<string, string>> = {
  "\x1b[A": "up",
  "\x1b[B": "down",
  "\x1b[5~": "page up",
  "\x1b[6~": "page down",
  "\x1b[H": "home",
  "\x1b[F": "end",
  "\x1b[1~": "home",
  "\x1b[4~": "end",
  "\r": "enter",
  "\n": "enter",
  "\x7f": "backspace",
  "\b": "backspace",
  "\x1b": "escape",
  "\x03": "interrupt",
};

// deno-lint-ignore no-control-regex
const CTRL = /^[\x01-\x1a]$/;
/** Returns the name of a key that is held with Ctrl, such as `ctrl-d`; undefined if it is none. */
const heldWithCtrl = (character: string): string | undefined =>
  CTRL.test(character) ? `ctrl-${String.fromCharCode(0x60 + character.charCodeAt(0))}` : undefined;

// deno-lint-ignore no-control-regex
const KEY = /\x1b\[[0-?]*[ -/]*[@-~]|\x1bO[A-Za-z]|[^]/gu;
/** The beginning of a sequence, whose rest may come with the next read. */
// deno-lint-ignore no-control-regex
const BEGUN = /\x1b(\[[0-?]{0,32}[ -/]{0,4}|O)?$/;

/** Sequences that have terminals set what is pasted apart from what is typed, and those that they send around it. */
export const PASTE = {
  on: "\x1b[?2004h",
  off: "\x1b[?2004l",
  begins: "\x1b[200~",
  ends: "\x1b[201~",
};

/** A key. */
export interface Key {
  /** A name such as `page up`, or the character itself. */
  readonly key: string;
  /** Of what is pasted only the characters are there. */
  readonly isPasted: boolean;
}

/** Reading of keys from what a terminal sends, in whatever parts it comes. */
export class KeyReader {
  #rest = "";
  #isPasting = false;

  /** Returns the keys that are whole. Sequences that stand for no key are left out. */
  read(text: string): Key[] {
    const all = this.#rest + text;
    this.#rest = BEGUN.exec(all)?.[0] ?? "";
    return this.#keysIn(all.slice(0, all.length - this.#rest.length));
  }

  /** Whether a sequence has begun; it may also be only the key Esc, which looks the same. */
  get hasBegun(): boolean {
    // The end of what is pasted comes for certain.
    return this.#rest !== "" && !this.#isPasting;
  }

  /** Returns the key that has begun, because no more has come in time. */
  end(): Key[] {
    const rest = this.#rest;
    this.#rest = "";
    return rest === "\x1b" ? this.#keysIn(rest) : [];
  }

  #keysIn(text: string): Key[] {
    const keys: Key[] = [];
    for (const [it] of text.matchAll(KEY)) {
      if (it === PASTE.begins || it === PASTE.ends) this.#isPasting = it === PASTE.begins;
      // In application mode terminals send arrows, Home and End behind another introducer.
      const named = SEQUENCES[it.replace("\x1bO", "\x1b[")] ?? heldWithCtrl(it);
      if (/^[^\p{Cc}]$/u.test(it)) keys.push({ key: it, isPasted: this.#isPasting });
      else if (named !== undefined && (!this.#isPasting || named === "interrupt")) {
        keys.push({ key: named, isPasted: false });
      }
    }
    return keys;
  }
}
