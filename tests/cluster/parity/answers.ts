/** Writes to an API server whose answers are values: a refusal is a result. */
import { z } from "zod";
import type { KubeClient, WholeResponse } from "../../../platform/kube/client.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { until } from "../../support/until.ts";
import { collectionPath, type Manifest } from "./manifest.ts";

/** Answer of the API server. */
export interface Answer {
  /** `ok`, or the code and reason of the refusal. */
  readonly result: string;
  readonly message?: string;
  /** What clients show beside a success. */
  readonly warnings?: readonly string[];
}

/** Texts of the `Warning` header: `299 - "text", 299 - "text"`. */
function warningsOf(header: string): string[] {
  return [...header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)]
    .map(([, text = ""]) => text.replace(/\\(.)/g, "$1"));
}

function told(header: string | null | undefined): Pick<Answer, "warnings"> {
  const warnings = warningsOf(header ?? "");
  return warnings.length > 0 ? { warnings } : {};
}

async function answerOf(call: Promise<WholeResponse>): Promise<Answer> {
  try {
    return { result: "ok", ...told((await call).headers.get("warning")) };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const { code, reason, message, warning } = error;
    const result = reason === "Unknown" ? String(code) : `${code} ${reason}`;
    return { result, message, ...told(warning) };
  }
}

/** Creates an object; in `namespace` unless it is of the cluster. */
export async function create(
  client: KubeClient,
  manifest: Manifest,
  namespace?: string,
): Promise<Answer> {
  return await answerOf(
    client.read(collectionPath(manifest, namespace), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(manifest),
    }),
  );
}

/** Which object, of which kind. */
export interface Target {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Such as `status`. */
  readonly subresource?: string;
}

function pathOf(target: Target, namespace: string | undefined): string {
  const { name, subresource } = target;
  return [collectionPath(target, namespace), name, ...subresource ? [subresource] : []].join("/");
}

/** Changes an object by a merge patch. */
export async function patch(
  client: KubeClient,
  target: Target,
  body: unknown,
  namespace?: string,
): Promise<Answer> {
  return await answerOf(
    client.read(pathOf(target, namespace), {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify(body),
    }),
  );
}

/** Deletes an object, and what it owns in the background. */
export async function remove(
  client: KubeClient,
  target: Target,
  namespace?: string,
): Promise<Answer> {
  return await answerOf(
    client.read(`${pathOf(target, namespace)}?propagationPolicy=Background`, {
      method: "DELETE",
    }),
  );
}

const establishedSchema = z.looseObject({
  status: z.looseObject({
    conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })),
  }),
});

/** Whether the objects of a definition can be asked for. */
async function isEstablished(client: KubeClient, definition: Manifest): Promise<boolean> {
  const { apiVersion, kind, metadata } = definition;
  const { text } = await client.read(pathOf({ apiVersion, kind, name: metadata.name }, undefined));
  const { status } = establishedSchema.parse(JSON.parse(text));
  return status.conditions.some((one) => one.type === "Established" && one.status === "True");
}

/** Creates what a comparison needs; definitions are in use then. Throws where the server refuses. */
export async function install(client: KubeClient, manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests) {
    const { kind, metadata } = manifest;
    const { result, message } = await create(client, manifest, metadata.namespace);
    if (result !== "ok") throw new Error(`${kind} ${metadata.name}: ${result}: ${message}`);
    if (kind === "CustomResourceDefinition") {
      await until(`${metadata.name} in use`, () => isEstablished(client, manifest));
    }
  }
}
