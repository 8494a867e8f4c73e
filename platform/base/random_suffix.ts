/** Random ends of generated names (apimachinery, `util/rand`). */

/** Letters and digits that make no word. */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** Characters of a random end. */
export const SUFFIX_LENGTH = 5;

/** A random end, with the hyphen before it. */
export const RANDOM_END = new RegExp(`-[${ALPHABET}]{${SUFFIX_LENGTH}}$`);

/** Five random characters; `random` returns numbers from 0 up to 1. */
export function randomSuffix(random: () => number): string {
  return Array.from(
    { length: SUFFIX_LENGTH },
    () => ALPHABET[Math.floor(random() * ALPHABET.length)] ?? ALPHABET[0],
  ).join("");
}
