/** Objects inside objects that are of a kind themselves. */
import { isObject, textAt } from "../../../crds/json.ts";
import { type Cause, required, under } from "../objects/field_errors.ts";
import type { Structure } from "./structure.ts";

/** Embedded objects that do not say of which kind they are, at any depth. */
export function checkEmbedded(value: unknown, structure: Structure, path = ""): Cause[] {
  if (Array.isArray(value)) {
    const items = structure.items();
    if (items === undefined) return [];
    return value.flatMap((item, index) => checkEmbedded(item, items, under(path, index)));
  }
  if (!isObject(value)) return [];
  const missing = structure.embedded
    ? ["apiVersion", "kind"].filter((key) => (textAt(value, key) ?? "") === "")
    : [];
  const inner = Object.entries(value).flatMap(([key, item]) => {
    const known = structure.property(key) ?? structure.additional();
    return known === undefined ? [] : checkEmbedded(item, known, under(path, key));
  });
  return [...missing.map((key) => required(under(path, key), "must not be empty")), ...inner];
}
