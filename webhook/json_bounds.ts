/** Size of JSON text, bounded: how many values it holds, and how deep they are nested. */

/** The bounds. */
export interface JsonBounds {
  /** Values: texts, numbers, lists, objects and so on. */
  readonly values: number;
  /** Lists and objects within each other. */
  readonly depth: number;
}

const byteOf = (character: string) => character.charCodeAt(0);
const QUOTE = byteOf('"');
const BACKSLASH = byteOf("\\");
const COMMA = byteOf(",");
const OPENING: ReadonlySet<number> = new Set(["{", "["].map(byteOf));
const CLOSING: ReadonlySet<number> = new Set(["}", "]"].map(byteOf));

/**
 * Measures a text, and stops at the first bound that it exceeds. It is not parsed, and takes no memory: what is
 * within a few megabytes of text can cost a hundred times as much once it is parsed. Of text that is not JSON
 * the result says nothing.
 */
export function measureJson(text: Uint8Array, bounds: JsonBounds): {
  readonly values: number;
  /** Absent if the text keeps the bounds. */
  readonly exceeded?: keyof JsonBounds;
} {
  // Each value begins the text, or stands after a comma or at the beginning of a list or an object.
  let values = 1;
  let depth = 0;
  let inString = false;
  let isEscaped = false;
  for (const byte of text) {
    if (inString) {
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === COMMA) values += 1;
    else if (OPENING.has(byte)) {
      values += 1;
      depth += 1;
      if (depth > bounds.depth) return { values, exceeded: "depth" };
    } else if (CLOSING.has(byte)) depth -= 1;
    if (values > bounds.values) return { values, exceeded: "values" };
  }
  return { values };
}
