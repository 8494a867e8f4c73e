/** Differences between two values, as paths that identify list items by name. Pure. */
import { isDeepStrictEqual } from "node:util";

/** One place where the two sides differ; `undefined` where a side has nothing. */
export interface Difference {
  readonly path: string;
  readonly upstream: unknown;
  readonly milepost: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What an item of a list is called: by name, type, manager, mount path or port. */
function nameOf(item: unknown): string | undefined {
  if (!isFields(item)) return undefined;
  const { mountPath, name, type, manager, containerPort, secretRef } = item;
  const called = mountPath ?? name ?? type ?? manager ?? containerPort;
  if (typeof called === "string" || typeof called === "number") return String(called);
  return isFields(secretRef) ? String(secretRef.name) : undefined;
}

/** The items by name; undefined where one has none, or two have the same. */
function byName(list: readonly unknown[]): Map<string, unknown> | undefined {
  const names = list.map(nameOf);
  const known = names.filter((name) => name !== undefined);
  if (known.length !== list.length || new Set(known).size !== list.length) return undefined;
  return new Map(known.map((name, index) => [name, list[index]]));
}

function ofLists(path: string, a: readonly unknown[], b: readonly unknown[]): Difference[] {
  const [left, right] = [byName(a), byName(b)];
  if (left === undefined || right === undefined || a.length + b.length === 0) {
    return [{ path, upstream: a, milepost: b }];
  }
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const inner = names.flatMap((name) =>
    differences(left.get(name), right.get(name), `${path}[${name}]`)
  );
  if (inner.length > 0) return inner;
  return [{ path: `${path}[order]`, upstream: [...left.keys()], milepost: [...right.keys()] }];
}

/** A missing value counts as an empty list beside a list of named items, so that the items are distinguished. */
function asList(value: unknown, other: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  return value === undefined && Array.isArray(other) && other.length > 0 && byName(other)
    ? []
    : undefined;
}

/** Every place where `upstream` and `milepost` differ; empty where they are the same. */
export function differences(upstream: unknown, milepost: unknown, path = ""): Difference[] {
  if (isDeepStrictEqual(upstream, milepost)) return [];
  if (isFields(upstream) && isFields(milepost)) {
    const keys = [...new Set([...Object.keys(upstream), ...Object.keys(milepost)])];
    return keys.flatMap((key) => differences(upstream[key], milepost[key], `${path}/${key}`));
  }
  const [left, right] = [asList(upstream, milepost), asList(milepost, upstream)];
  if (left !== undefined && right !== undefined) return ofLists(path, left, right);
  return [{ path, upstream, milepost }];
}
