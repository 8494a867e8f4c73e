/** Cuts the text of an error so that it fits an event (contract trainjob.md 2.7). */

/** Characters of an error that events and conditions tell. */
const ERROR_MAX = 950;

/** The first 950 characters, and ` ...` where there were more. */
export function shorten(text: string): string {
  const characters = Array.from(text);
  return characters.length <= ERROR_MAX ? text : `${characters.slice(0, ERROR_MAX).join("")} ...`;
}
