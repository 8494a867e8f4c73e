/** JSON patch (RFC 6902) and JSON merge patch (RFC 7386). */
import { z } from "zod";
import { isObject, type JsonObject, sameJson, setKey } from "../../../platform/base/json.ts";
import { badRequest, StatusError } from "./status_error.ts";

/** Largest number of operations in a JSON patch, as in the real server. */
const OPERATIONS_MAX = 10_000;

const pointer = z.string().regex(/^(\/.*)?$/s, "must be a JSON pointer such as /spec/replicas");
const operations = z.array(z.discriminatedUnion("op", [
  z.looseObject({ op: z.literal("add"), path: pointer, value: z.unknown() }),
  z.looseObject({ op: z.literal("replace"), path: pointer, value: z.unknown() }),
  z.looseObject({ op: z.literal("test"), path: pointer, value: z.unknown() }),
  z.looseObject({ op: z.literal("remove"), path: pointer }),
  z.looseObject({ op: z.literal("move"), path: pointer, from: pointer }),
  z.looseObject({ op: z.literal("copy"), path: pointer, from: pointer }),
])).max(OPERATIONS_MAX);

type Operation = z.infer<typeof operations>[number];

function wrong(operation: Operation, why: string): StatusError {
  const message = `the server rejected our request due to an error in our request: ` +
    `JSON patch ${operation.op} "${operation.path}": ${why}`;
  return new StatusError(422, "Invalid", message);
}

function tokens(path: string): string[] {
  return path.split("/").slice(1).map((part) => part.replace(/~1/g, "/").replace(/~0/g, "~"));
}

function indexOf(list: unknown[], token: string, operation: Operation, end: number): number {
  if (token === "-") return list.length;
  const index = /^(0|[1-9]\d*)$/.test(token) ? Number(token) : NaN;
  if (!(index < end)) {
    throw wrong(operation, `${token} is not an index of a list of ${list.length}`);
  }
  return index;
}

function read(root: unknown, parts: readonly string[], operation: Operation): unknown {
  return parts.reduce<unknown>((value, token) => {
    if (Array.isArray(value)) return value[indexOf(value, token, operation, value.length)];
    if (isObject(value) && Object.hasOwn(value, token)) return value[token];
    throw wrong(operation, `"/${parts.join("/")}" does not exist`);
  }, root);
}

/** Calls `change` with the container of the path's last part and that part. */
function at(
  root: unknown,
  path: string,
  operation: Operation,
  change: (container: unknown[] | JsonObject, token: string) => void,
): void {
  const parts = tokens(path);
  const container = read(root, parts.slice(0, -1), operation);
  if (!Array.isArray(container) && !isObject(container)) {
    throw wrong(operation, "its parent is not an object or a list");
  }
  change(container, parts.at(-1) ?? "");
}

/** Sets a member; in a list it inserts the value, unless the operation replaces. */
function put(root: unknown, path: string, value: unknown, operation: Operation): unknown {
  if (path === "") return value;
  const replaced = operation.op === "replace" ? 1 : 0;
  at(root, path, operation, (container, token) => {
    if (Array.isArray(container)) {
      const index = indexOf(container, token, operation, container.length + 1 - replaced);
      container.splice(index, replaced, value);
    } else setKey(container, token, value);
  });
  return root;
}

function remove(root: unknown, path: string, operation: Operation): void {
  read(root, tokens(path), operation);
  at(root, path, operation, (container, token) => {
    if (Array.isArray(container)) container.splice(Number(token), 1);
    else delete container[token];
  });
}

function apply(root: unknown, operation: Operation): unknown {
  switch (operation.op) {
    case "add":
    case "replace":
      return put(root, operation.path, structuredClone(operation.value), operation);
    case "remove":
      remove(root, operation.path, operation);
      return root;
    case "test":
      if (sameJson(read(root, tokens(operation.path), operation), operation.value)) return root;
      throw wrong(operation, "the test failed: the value differs");
    case "copy": {
      const value = structuredClone(read(root, tokens(operation.from), operation));
      return put(root, operation.path, value, operation);
    }
    case "move": {
      const value = read(root, tokens(operation.from), operation);
      remove(root, operation.from, operation);
      return put(root, operation.path, value, operation);
    }
  }
}

/**
 * Returns a copy of the document after a JSON patch. As in the real server, replacing a missing member
 * adds it. Throws 400 or 422 with the operation that fails.
 */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  const parsed = operations.safeParse(patch);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const message = `cannot decode the JSON patch: ${issue?.path.join(".")}: ${issue?.message}`;
    if (!Array.isArray(patch)) throw badRequest(message);
    throw new StatusError(422, "Invalid", message);
  }
  return parsed.data.reduce(apply, structuredClone(document));
}

/** Returns the document after a merge patch: `null` removes a member, lists are replaced. Changes neither argument. */
export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: JsonObject = isObject(document) ? { ...document } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else {
      const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
      setKey(merged, key, applyMergePatch(before, value));
    }
  }
  return merged;
}
