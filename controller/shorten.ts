/** Truncation of error messages, so that they fit an event. */

/** Longest error message in events and conditions, in characters; as upstream. */
const ERROR_MAX = 950;

/** Returns the first 950 characters, with ` ...` if there are more. */
export function shorten(text: string): string {
  const characters = Array.from(text);
  return characters.length <= ERROR_MAX ? text : `${characters.slice(0, ERROR_MAX).join("")} ...`;
}
