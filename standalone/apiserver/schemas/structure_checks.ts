/** Checks of custom objects by their structure: unique items of lists, and the kinds of objects inside objects. */
import { isObject, textAt } from "../../../platform/base/json.ts";
import { duplicate, required, type StatusCause, under } from "../../../crds/status_cause.ts";
import { flatMapKnown, type Structure } from "./structure.ts";

/** Returns the duplicates in lists of type set and map, and the objects that do not say their kind, at any depth. */
export function checkStructure(value: unknown, structure: Structure, path = ""): StatusCause[] {
  const own = Array.isArray(value) ? checkList(value, structure, path) : [];
  const missing = structure.embedded && isObject(value)
    ? ["apiVersion", "kind"].filter((key) => (textAt(value, key) ?? "") === "")
    : [];
  return [
    ...own,
    ...missing.map((key) => required(under(path, key), "must not be empty")),
    ...flatMapKnown(value, structure, path, checkStructure),
  ];
}

function checkList(list: unknown[], structure: Structure, path: string): StatusCause[] {
  if (structure.listType !== "set" && structure.listType !== "map") return [];
  const causes: StatusCause[] = [];
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const here = under(path, index);
    const key = listKey(item, structure);
    if (key === undefined) continue;
    if (seen.has(key.text)) causes.push(duplicate(here, key.shown));
    seen.add(key.text);
  }
  return causes;
}

/** Returns the identity of an item of a set or map; undefined if the item is malformed. */
function listKey(
  item: unknown,
  structure: Structure,
): { text: string; shown: unknown } | undefined {
  if (structure.listType === "set") {
    return { text: JSON.stringify(item), shown: item };
  }
  if (!isObject(item)) return undefined;
  const items = structure.items();
  const values: [string, unknown][] = structure.mapKeys.map((
    key,
  ) => [key, item[key] ?? items?.property(key)?.default]);
  const shown = Object.fromEntries(values.filter(([, value]) => value !== undefined));
  return { text: JSON.stringify(values), shown };
}
