/** Patch requests: the kind of patch by media type. */
import type { ApiObject } from "../objects/api_object.ts";
import { applyJsonPatch, applyMergePatch } from "../objects/json_patch.ts";
import { unsupportedMediaType } from "../objects/status_error.ts";
import { applyStrategicPatch } from "../objects/strategic_merge_patch.ts";
import type { Call } from "../operations/context.ts";
import { kubernetesSchemaName } from "../schemas/kubernetes_schemas.ts";
import { contentType, parseJson, readText } from "./body.ts";

/** Media types of patches. */
const PATCH_TYPES = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** Returns the patched object. */
export type Change = (current: ApiObject) => unknown;

const SUPPORTED = [PATCH_TYPES.json, PATCH_TYPES.merge, PATCH_TYPES.strategic];

function refuse(type: string, supported: string[]): never {
  if (type === PATCH_TYPES.apply) {
    throw unsupportedMediaType(
      "server-side apply is not supported by this API server: use client-side apply " +
        "(kubectl apply --server-side=false), or a JSON, merge or strategic merge patch",
    );
  }
  throw unsupportedMediaType(
    `the body of the request was in an unknown format (${type}): ` +
      `accepted media types include: ${supported.join(", ")}`,
  );
}

/** Reads a patch request and returns its change. Throws 400, 413 and 415. */
export async function readPatch(request: Request, { resource }: Call): Promise<Change> {
  const type = contentType(request);
  const supported = resource.custom ? SUPPORTED.slice(0, 2) : SUPPORTED;
  if (!supported.some((one) => one === type)) refuse(type, supported);
  const patch = parseJson(await readText(request));
  if (type === PATCH_TYPES.json) return (current) => applyJsonPatch(current, patch);
  if (type === PATCH_TYPES.merge) return (current) => applyMergePatch(current, patch);
  const name = kubernetesSchemaName(resource.group, resource.version, resource.kind);
  return (current) => applyStrategicPatch(current, patch, name);
}
