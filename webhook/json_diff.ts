/** JSON patches (RFC 6902) from a before and an after; as small as a webhook's answer needs to be. */
import { isObject, sameJson } from "../platform/base/json.ts";

/** One operation of a JSON patch. */
export type JsonPatchOperation =
  | { op: "add" | "replace"; path: string; value: unknown }
  | { op: "remove"; path: string };

function escapeKey(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function objectPatch(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  path: string,
): JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = [];
  for (const key of Object.keys(before)) {
    if (after[key] === undefined && before[key] !== undefined) {
      operations.push({ op: "remove", path: `${path}/${escapeKey(key)}` });
    }
  }
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined) continue;
    const at = `${path}/${escapeKey(key)}`;
    if (before[key] === undefined) operations.push({ op: "add", path: at, value });
    else for (const operation of jsonPatch(before[key], value, at)) operations.push(operation);
  }
  return operations;
}

/** Items are compared by position; a list that grew gets additions, one that shrank is replaced. */
function arrayPatch(before: unknown[], after: unknown[], path: string): JsonPatchOperation[] {
  if (after.length < before.length) return [{ op: "replace", path, value: after }];
  const changed = before.flatMap((item, index) =>
    jsonPatch(item, after[index], `${path}/${index}`)
  );
  const added = after.slice(before.length).map((value): JsonPatchOperation => ({
    op: "add",
    path: `${path}/-`,
    value,
  }));
  return [...changed, ...added];
}

/**
 * The operations that turn `before` into `after`, both JSON values; empty if they are equal.
 * `path` is the JSON pointer at which they stand.
 */
export function jsonPatch(before: unknown, after: unknown, path = ""): JsonPatchOperation[] {
  if (sameJson(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return arrayPatch(before, after, path);
  if (isObject(before) && isObject(after)) return objectPatch(before, after, path);
  return [{ op: "replace", path, value: after }];
}
