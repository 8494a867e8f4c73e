/** Pruning of fields that a schema does not know. */
import { isObject, type JsonObject, setKey } from "../../../platform/base/json.ts";
import { under } from "../../../crds/status_cause.ts";
import type { Structure } from "./structure.ts";

/** Options of {@link prune}. */
export interface PruneOptions {
  /** Structure of the metadata of the root and of embedded objects. */
  readonly metadata: Structure;
  /** Decodes as Go does for built-in kinds: null means absent, a number given as a quantity becomes text. */
  readonly native: boolean;
  /** Called with the path of each dropped field. */
  readonly onUnknown?: (path: string) => void;
}

const KEPT_AT_ROOT = new Set(["apiVersion", "kind"]);

/** Returns a copy of the value with only the fields that the structure knows. */
export function prune(value: unknown, structure: Structure, options: PruneOptions): unknown {
  return pruneValue(value, structure, options, "", true);
}

function pruneValue(
  value: unknown,
  structure: Structure,
  options: PruneOptions,
  path: string,
  root: boolean,
): unknown {
  if (Array.isArray(value)) {
    const items = structure.items();
    if (items === undefined) return structuredClone(value);
    return value.map((item, index) => pruneValue(item, items, options, under(path, index), false));
  }
  if (isObject(value)) return pruneObject(value, structure, options, path, root);
  if (options.native && structure.quantity && typeof value === "number") return String(value);
  return value;
}

function pruneObject(
  value: JsonObject,
  structure: Structure,
  options: PruneOptions,
  path: string,
  root: boolean,
): JsonObject {
  const result: JsonObject = {};
  const whole = root || structure.embedded;
  for (const [key, item] of Object.entries(value)) {
    const here = under(path, key);
    if (whole && key === "metadata") {
      if (item !== null) {
        setKey(
          result,
          key,
          pruneValue(item, options.metadata, { ...options, native: true }, here, false),
        );
      }
      continue;
    }
    const known = structure.member(key);
    if (known === undefined) {
      if (structure.preserves || (whole && KEPT_AT_ROOT.has(key))) {
        setKey(result, key, structuredClone(item));
      } else options.onUnknown?.(here);
      continue;
    }
    if (item === null && !known.nullable && !known.preserves) continue;
    setKey(result, key, pruneValue(item, known, options, here, false));
  }
  return result;
}
