/** Fields that stand twice in one object of a JSON text: JSON.parse keeps the last in silence. */
import { under } from "../objects/field_errors.ts";

/** An object or list that is being read. */
interface Frame {
  readonly path: string;
  /** Members so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  /** The member whose value comes next. */
  key: string | undefined;
  index: number;
}

/** Texts, brackets, commas and colons; what stands between them tells nothing here. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

function placeOf(frame: Frame | undefined): string {
  if (frame === undefined) return "";
  return under(frame.path, frame.keys === undefined ? frame.index : frame.key ?? "");
}

/** Paths of the fields that stand twice, such as `data.x`. The text must be valid JSON. */
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
