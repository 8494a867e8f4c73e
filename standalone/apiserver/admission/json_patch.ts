/** JSON patch, RFC 6902. */
import { z } from "zod";
import { isObject, type JsonObject, sameJson, setKey } from "../schema/json.ts";

const operationSchema = z.discriminatedUnion("op", [
  z.object({ op: z.literal("add"), path: z.string(), value: z.unknown() }),
  z.object({ op: z.literal("remove"), path: z.string() }),
  z.object({ op: z.literal("replace"), path: z.string(), value: z.unknown() }),
  z.object({ op: z.literal("move"), path: z.string(), from: z.string() }),
  z.object({ op: z.literal("copy"), path: z.string(), from: z.string() }),
  z.object({ op: z.literal("test"), path: z.string(), value: z.unknown() }),
]);

/** One operation of a patch. */
export type JsonPatchOperation = z.infer<typeof operationSchema>;

/** The patch is none, or does not fit the document; the message says which operation and why. */
export class JsonPatchError extends Error {
  override name = "JsonPatchError";
}

/** Most operations of one patch. */
export const JSON_PATCH_MAX_OPERATIONS = 10_000;

/** Reads a patch off the wire. Throws {@link JsonPatchError}. */
export function parseJsonPatch(value: unknown): JsonPatchOperation[] {
  if (!Array.isArray(value)) throw new JsonPatchError("a JSON patch must be a list of operations");
  if (value.length > JSON_PATCH_MAX_OPERATIONS) {
    throw new JsonPatchError(
      `a JSON patch has at most ${JSON_PATCH_MAX_OPERATIONS} operations, not ${value.length}`,
    );
  }
  return value.map((item, index) => {
    const parsed = operationSchema.safeParse(item);
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    const where = [index, ...(issue?.path ?? [])].join(".");
    throw new JsonPatchError(`operation ${where}: ${issue?.message ?? "is not valid"}`);
  });
}

/**
 * The document after the patch; the document itself is left alone. All or nothing: throws
 * {@link JsonPatchError} when an operation does not fit.
 */
export function applyJsonPatch(
  document: unknown,
  operations: readonly JsonPatchOperation[],
): unknown {
  let result: unknown = structuredClone(document);
  for (const [index, operation] of operations.entries()) {
    try {
      result = applyOne(result, operation);
    } catch (error) {
      if (!(error instanceof JsonPatchError)) throw error;
      const what = `operation ${index} (${operation.op} ${operation.path})`;
      throw new JsonPatchError(`${what}: ${error.message}`, { cause: error });
    }
  }
  return result;
}

function applyOne(document: unknown, operation: JsonPatchOperation): unknown {
  const path = parsePointer(operation.path);
  switch (operation.op) {
    case "add":
      return insert(document, path, structuredClone(operation.value));
    case "remove":
      return remove(document, path);
    case "replace":
      read(document, path);
      return path.length === 0
        ? structuredClone(operation.value)
        : insert(document, path, structuredClone(operation.value), true);
    case "copy":
      return insert(document, path, structuredClone(read(document, parsePointer(operation.from))));
    case "move": {
      const from = parsePointer(operation.from);
      const inside = from.length < path.length && from.every((part, index) => part === path[index]);
      if (inside) throw new JsonPatchError("cannot move a value into itself");
      const value = read(document, from);
      return insert(remove(document, from), path, value);
    }
    case "test":
      if (!sameJson(read(document, path), operation.value)) {
        throw new JsonPatchError("the test failed: the value is another one");
      }
      return document;
  }
}

function parsePointer(pointer: string): string[] {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) {
    throw new JsonPatchError(`the path must start with "/": ${pointer}`);
  }
  return pointer.slice(1).split("/").map((part) =>
    part.replaceAll("~1", "/").replaceAll("~0", "~")
  );
}

function missing(part: string): JsonPatchError {
  return new JsonPatchError(`the path has no "${part}"`);
}

function indexOf(part: string, length: number): number {
  if (!/^(0|[1-9]\d*)$/.test(part) || Number(part) >= length) {
    throw new JsonPatchError(`the list has no index "${part}"`);
  }
  return Number(part);
}

function step(value: unknown, part: string): unknown {
  if (Array.isArray(value)) return value[indexOf(part, value.length)];
  if (isObject(value) && Object.hasOwn(value, part)) return value[part];
  throw missing(part);
}

function read(document: unknown, path: readonly string[]): unknown {
  return path.reduce(step, document);
}

/** The container that the last part of the path is in, and that part. */
function parentOf(
  document: unknown,
  path: readonly string[],
): { parent: JsonObject | unknown[]; part: string } {
  const part = path.at(-1) ?? "";
  const parent = read(document, path.slice(0, -1));
  if (Array.isArray(parent) || isObject(parent)) return { parent, part };
  throw missing(part);
}

/** Changes the document, which is this patch's own copy. */
function insert(
  document: unknown,
  path: readonly string[],
  value: unknown,
  replace = false,
): unknown {
  if (path.length === 0) return value;
  const { parent, part } = parentOf(document, path);
  if (!Array.isArray(parent)) setKey(parent, part, value);
  else if (replace) parent[indexOf(part, parent.length)] = value;
  else parent.splice(part === "-" ? parent.length : indexOf(part, parent.length + 1), 0, value);
  return document;
}

function remove(document: unknown, path: readonly string[]): unknown {
  if (path.length === 0) return null;
  read(document, path);
  const { parent, part } = parentOf(document, path);
  if (Array.isArray(parent)) parent.splice(indexOf(part, parent.length), 1);
  else delete parent[part];
  return document;
}
