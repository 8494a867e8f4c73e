/** Strategic merge patch: lists merge by the key that the schema names. */
import {
  asList,
  isObject,
  type JsonObject,
  sameJson,
  setKey,
  textAt,
} from "../../../platform/base/json.ts";
import { createStructure, REF, type Structure } from "../schemas/structure.ts";
import { badRequest } from "./status_error.ts";

const DIRECTIVE = "$patch";
const DELETE_LIST = "$deleteFromPrimitiveList/";
const ORDER = "$setElementOrder/";
const RETAIN = "$retainKeys";

function mergesLists({ keywords }: Structure): boolean {
  return textAt(keywords, "x-kubernetes-patch-strategy")?.split(",").includes("merge") ?? false;
}

function mergeKeyOf(structure: Structure | undefined): string | undefined {
  return textAt(structure?.keywords, "x-kubernetes-patch-merge-key");
}

/** Merges a list of objects by their key. */
function mergeByKey(list: unknown[], patch: unknown[], key: string, items?: Structure): unknown[] {
  const merged = [...list];
  const added: unknown[] = [];
  for (const entry of patch) {
    if (!isObject(entry)) throw badRequest(`strategic merge patch: a list item is not an object`);
    if (entry[DIRECTIVE] === "replace") {
      return patch.filter((one) => one !== entry);
    }
    if (entry[key] === undefined) {
      throw badRequest(`strategic merge patch: a list item lacks its merge key "${key}"`);
    }
    const index = merged.findIndex((one) => isObject(one) && sameJson(one[key], entry[key]));
    if (entry[DIRECTIVE] === "delete") {
      if (index >= 0) merged.splice(index, 1);
    } else if (index >= 0) merged[index] = mergeObject(merged[index], entry, items);
    else added.push(mergeObject({}, entry, items));
  }
  // New items come first, as in the real server, unless `$setElementOrder` says otherwise.
  return [...added, ...merged];
}

function mergeList(list: unknown, patch: unknown[], structure?: Structure): unknown[] {
  if (structure === undefined || !mergesLists(structure)) return patch;
  const current = asList(list);
  const key = mergeKeyOf(structure);
  if (key !== undefined) return mergeByKey(current, patch, key, structure.items());
  return [...current, ...patch.filter((item) => !current.some((one) => sameJson(one, item)))];
}

/** Sorts the items that the patch orders; other items keep their positions. */
function ordered(list: unknown, order: unknown, structure?: Structure): unknown {
  if (!Array.isArray(list) || !Array.isArray(order)) return list;
  const key = mergeKeyOf(structure);
  const idOf = (item: unknown) => key !== undefined && isObject(item) ? item[key] : item;
  const wanted = order.map(idOf);
  const rank = (item: unknown) => wanted.findIndex((id) => sameJson(id, idOf(item)));
  const known = list.filter((item) => rank(item) >= 0).sort((a, b) => rank(a) - rank(b));
  const result: unknown[] = [];
  for (const item of list) result.push(rank(item) >= 0 ? known.shift() : item);
  return result;
}

/** Applies the directives beside a list: items to delete, and the order of items. */
function applyDirective(
  merged: JsonObject,
  directive: string,
  value: unknown,
  structure?: Structure,
): void {
  const [kind = "", field = ""] = directive.split("/");
  const list = merged[field];
  if (`${kind}/` === DELETE_LIST && Array.isArray(list) && Array.isArray(value)) {
    merged[field] = list.filter((item) => !value.some((gone) => sameJson(gone, item)));
  }
  if (`${kind}/` === ORDER) merged[field] = ordered(list, value, structure?.member(field));
}

function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, member]) => !key.startsWith("$") && member !== null)
      .map(([key, member]) => [key, withoutDirectives(member)]),
  );
}

function mergeObject(document: unknown, patch: JsonObject, structure?: Structure): unknown {
  const directive = patch[DIRECTIVE];
  if (directive === "replace") return withoutDirectives(patch);
  if (directive === "delete") return undefined;
  const merged: JsonObject = isObject(document) ? { ...document } : {};
  const members = Object.entries(patch).filter(([key]) => !key.startsWith("$"));
  for (const [key, value] of members) {
    const member = structure?.member(key);
    const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
    if (value === null) delete merged[key];
    else if (Array.isArray(value)) {
      setKey(merged, key, withoutDirectives(mergeList(before, value, member)));
    } else if (isObject(value)) {
      const next = mergeObject(before, value, member);
      if (next === undefined) delete merged[key];
      else setKey(merged, key, next);
    } else setKey(merged, key, value);
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(DELETE_LIST) || key.startsWith(ORDER)) {
      applyDirective(merged, key, value, structure);
    }
  }
  const kept = patch[RETAIN];
  if (Array.isArray(kept)) {
    for (const key of Object.keys(merged)) if (!kept.includes(key)) delete merged[key];
  }
  return merged;
}

/**
 * Returns a copy of the document after a strategic merge patch. Lists whose schema has the strategy
 * `merge` merge by their key, others are replaced; the directives `$patch`, `$setElementOrder`,
 * `$deleteFromPrimitiveList` and `$retainKeys` are supported. Throws 400.
 * @param schemaName Name of the kind's schema in `crds/kubernetes_schemas.json`; without
 * it the patch is a merge patch.
 */
export function applyStrategicPatch(
  document: unknown,
  patch: unknown,
  schemaName: string | undefined,
): unknown {
  if (!isObject(patch)) throw badRequest("the strategic merge patch must be a JSON object");
  const structure = schemaName && createStructure({ $ref: `${REF}${schemaName}` }, true);
  return mergeObject(structuredClone(document), patch, structure || undefined);
}
