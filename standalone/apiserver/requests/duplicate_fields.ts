/** Duplicate fields of a JSON text, of which JSON.parse silently keeps the last. */
import { under } from "../../../crds/status_cause.ts";

/** An object or list while it is read. */
interface Frame {
  readonly path: string;
  /** Members so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  /** Name of the member whose value follows. */
  key: string | undefined;
  index: number;
}

/** Texts, brackets, commas and colons; other tokens do not matter here. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

function placeOf(frame: Frame | undefined): string {
  if (frame === undefined) return "";
  return under(frame.path, frame.keys === undefined ? frame.index : frame.key ?? "");
}

/** Returns the paths of duplicate fields, such as `data.x`. The text must be valid JSON. */
export function duplicateFields(text: string): string[] {
  const found: string[] = [];
  const frames: Frame[] = [];
  for (const [token] of text.matchAll(TOKEN)) {
    const frame = frames.at(-1);
    if (token === "{" || token === "[") {
      const keys = token === "{" ? new Set<string>() : undefined;
      frames.push({ path: placeOf(frame), keys, key: undefined, index: 0 });
    } else if (token === "}" || token === "]") frames.pop();
    else if (frame === undefined || token === ":") continue;
    else if (token === ",") {
      frame.index++;
      frame.key = undefined;
    } else if (frame.keys && frame.key === undefined) {
      frame.key = String(JSON.parse(token));
      if (frame.keys.has(frame.key)) found.push(placeOf(frame));
      frame.keys.add(frame.key);
    }
  }
  return [...new Set(found)];
}
