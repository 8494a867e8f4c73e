/** JSON merge patch and JSON patch for the cluster in memory. */
import type { JsonPatchOperation } from "../../platform/kube/connection/request.ts";
import { KubeError } from "../../platform/kube/errors.ts";

type Fields = Record<string, unknown>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** RFC 7386. The target is not changed. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return structuredClone(patch);
  const result: Fields = isFields(target) ? structuredClone(target) : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else if (value !== undefined) result[name] = applyMergePatch(result[name], value);
  }
  return result;
}

function refuse(message: string): never {
  throw new KubeError(message, { code: 422, reason: "Invalid" });
}

function step(value: unknown, token: string): unknown {
  if (Array.isArray(value)) return value[Number(token)];
  return isFields(value) ? value[token] : refuse(`no such path: ${token}`);
}

function put(parent: unknown, token: string, value: unknown, insert: boolean): void {
  if (Array.isArray(parent)) {
    const index = token === "-" ? parent.length : Number(token);
    parent.splice(index, insert ? 0 : 1, value);
  } else if (isFields(parent)) parent[token] = value;
  else refuse(`no such path: ${token}`);
}

function drop(parent: unknown, token: string): void {
  if (Array.isArray(parent)) parent.splice(Number(token), 1);
  else if (isFields(parent) && token in parent) delete parent[token];
  else refuse(`no such path: ${token}`);
}

/** RFC 6902 without move and copy. The target is not changed. */
export function applyJsonPatch(target: unknown, operations: JsonPatchOperation[]): unknown {
  const result = structuredClone(target);
  for (const operation of operations) {
    const tokens = operation.path.split("/").slice(1)
      .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = tokens.pop() ?? refuse("an operation needs a path");
    const parent = tokens.reduce(step, result);
    if (operation.op === "remove") drop(parent, last);
    else if (operation.op === "add" || operation.op === "replace") {
      put(parent, last, structuredClone(operation.value), operation.op === "add");
    } else if (operation.op === "test") {
      const found = JSON.stringify(step(parent, last));
      if (found !== JSON.stringify(operation.value)) refuse(`test failed at ${operation.path}`);
    } else refuse(`the cluster in memory has no operation ${operation.op}`);
  }
  return result;
}
