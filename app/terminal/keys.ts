/** Keys of a terminal, from the bytes that it sends. Pure. */

const SEQUENCES: Readonly<Record<string, string>> = {
  "\x1b[A": "up",
  "\x1b[B": "down",
  "\x1bOA": "up",
  "\x1bOB": "down",
  "\x1b[5~": "page up",
  "\x1b[6~": "page down",
  "\x1b[H": "home",
  "\x1b[F": "end",
  "\x1bOH": "home",
  "\x1bOF": "end",
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
const KEY = /\x1b\[[0-?]*[ -/]*[@-~]|\x1bO[A-Za-z]|[^]/gu;

/** Returns the keys in what was read: names such as `page up`, or the character itself. Other sequences are left out. */
export function keysIn(text: string): string[] {
  return (text.match(KEY) ?? []).flatMap((it) => {
    const name = SEQUENCES[it];
    if (name !== undefined) return [name];
    return /^[^\p{Cc}]$/u.test(it) ? [it] : [];
  });
}
