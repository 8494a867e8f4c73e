/** Custom kinds for conformance cases, in a group for each case. */
import assert from "node:assert/strict";
import type { Answer, Sandbox } from "./api.ts";

type Fields = Record<string, unknown>;

/** Result of {@link define}. */
export interface Definition {
  /** Schema of the properties beside apiVersion, kind and metadata. */
  readonly properties?: Fields;
  /** More of the schema itself: `x-kubernetes-validations`, `required`. */
  readonly schema?: Fields;
  /** More of the version: subresources, columns. */
  readonly version?: Fields;
  /** More versions than v1. */
  readonly more?: readonly Fields[];
  readonly scope?: "Namespaced" | "Cluster";
  readonly names?: Fields;
}

/** A definition of `things` in the group of the case. */
export function definition({ id }: Sandbox, more: Definition = {}): Answer {
  const group = `${id}.example.com`;
  const schema = {
    openAPIV3Schema: { type: "object", properties: more.properties ?? {}, ...more.schema },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: more.scope ?? "Namespaced",
      names: { plural: "things", singular: "thing", kind: "Thing", ...more.names },
      versions: [
        { name: "v1", served: true, storage: true, schema, ...more.version },
        ...(more.more ?? []).map((one) => ({ served: true, storage: false, schema, ...one })),
      ],
    },
  };
}

export const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Path of the case's things, in its namespace. */
export function things({ id }: Sandbox, version = "v1"): string {
  return `${id}.example.com/${version}/things`;
}

/** A thing of the case. */
export function thing({ id }: Sandbox, name: string, more: Fields = {}): Answer {
  return { apiVersion: `${id}.example.com/v1`, kind: "Thing", metadata: { name }, ...more };
}

/** Creates the definition and waits until its objects are served. Returns their path. */
export async function define(api: Sandbox, more: Definition = {}): Promise<string> {
  const made = await api.createCluster(DEFINITIONS, definition(api, more));
  assert.equal(made.kind, "CustomResourceDefinition");
  await api.until(
    "the definition to be established",
    `${DEFINITIONS}/${made.metadata.name}`,
    ({ body }) =>
      body.status?.conditions?.some(({ type, status }: Answer) =>
        type === "Established" && status === "True"
      ),
  );
  const path = more.scope === "Cluster" ? `/apis/${api.id}.example.com/v1/things` : things(api);
  await api.until("the kind to be served", path, ({ status }) => status === 200);
  return path;
}
