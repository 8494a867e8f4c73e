/** Texts in base64. */

/** Returns the text, of which the bytes are UTF-8. Throws a SyntaxError for what is no base64. */
export const textOfBase64 = (data: string): string =>
  new TextDecoder().decode(Uint8Array.fromBase64(data));
