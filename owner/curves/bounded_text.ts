/** Text of others that is kept: cut to so many bytes, and a copy of its own. */

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const buffer = new Uint8Array(4_096);

/**
 * Returns a copy of the text, cut between characters to at most so many bytes (up to 4,096), and its bytes as UTF-8. A cut
 * string would keep the whole alive.
 */
export function boundedText(
  text: string,
  most: number,
): { readonly text: string; readonly bytes: number; readonly isWhole: boolean } {
  const { read, written } = encoder.encodeInto(text, buffer.subarray(0, most));
  return {
    text: decoder.decode(buffer.subarray(0, written)),
    bytes: written,
    isWhole: read === text.length,
  };
}

/** Returns the text, cut at so many characters (up to 1,300) by an ellipsis; a copy if it is cut. */
export function copiedText(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${boundedText(text.slice(0, most - 1), buffer.length).text}…`;
}
