/** Embedded objects: objects inside objects that have a kind themselves. */
import { isObject, textAt } from "../../../platform/base/json.ts";
import { required, type StatusCause, under } from "../../../crds/status_cause.ts";
import type { Structure } from "./structure.ts";

/** Returns the embedded objects at any depth that do not say their kind. */
export function checkEmbedded(value: unknown, structure: Structure, path = ""): StatusCause[] {
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
