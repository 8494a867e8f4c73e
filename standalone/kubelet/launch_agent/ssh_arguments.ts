/** Arguments of the launch agent, which are those of ssh: `[OPTION]… [USER@]HOST COMMAND…`. Pure. */

/** ssh's options that have a value, in the same word or in the next one. */
const WITH_VALUE = new Set("BbcDEeFIiJLlmOoPpQRSWw");

/** The letters of a word of options, and whether the value of the last one is the next word. */
function lettersOf(word: string): { letters: string; wantsNext: boolean } {
  const letters = word.slice(1);
  const at = [...letters].findIndex((letter) => WITH_VALUE.has(letter));
  if (at < 0) return { letters, wantsNext: false };
  return { letters: letters.slice(0, at + 1), wantsNext: at === letters.length - 1 };
}

/**
 * Parses the arguments; undefined without a host or a command. `command` is for a shell: its words, joined by blanks, as
 * ssh does. Options of ssh have no effect here, but for `-n`: the command does not get the agent's standard input.
 */
export function parseSshArguments(words: readonly string[]) {
  let hasInput = true;
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] ?? "";
    if (!word.startsWith("-")) break;
    if (word === "--") {
      at++;
      break;
    }
    const { letters, wantsNext } = lettersOf(word);
    if (letters.includes("n")) hasInput = false;
    if (wantsNext) at++;
  }
  const [target = "", ...command] = words.slice(at);
  const host = target.slice(target.lastIndexOf("@") + 1);
  if (host === "" || command.length === 0) return undefined;
  return { host, command: command.join(" "), hasInput };
}
