/** OpenAPI documents, as far as kubectl needs them for `explain` and validation. */
import { createHash } from "node:crypto";
import { isObject, type JsonObject } from "../../../platform/base/json.ts";
import type { Registry } from "../kinds/registry.ts";
import { apiVersionOf, type Resource } from "../kinds/api_resource.ts";
import { kubernetesSchemaName } from "../schemas/kubernetes_schemas.ts";
import { KUBERNETES_DEFINITIONS, METADATA_REF, REF } from "../schemas/structure.ts";

const GVK = "x-kubernetes-group-version-kind";

/** A group and one of its versions. */
export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

function pathOf(groupVersion: GroupVersion): string {
  return groupVersion.group === ""
    ? `api/${groupVersion.version}`
    : `apis/${apiVersionOf(groupVersion)}`;
}

/** Returns the document at `/openapi/v3`: the paths of each group and version's document. */
export function openApiIndex(registry: Registry): JsonObject {
  const paths: JsonObject = {};
  for (const [path, kinds] of Map.groupBy(registry.all(), pathOf)) {
    const content = kinds.map(({ resource, openApi }) => [resource, openApi]);
    const stamp = createHash("sha256").update(JSON.stringify(content)).digest("hex");
    paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${stamp}` };
  }
  return { paths };
}

const gvkOf = ({ group, version, kind }: Resource) => ({ group, version, kind });

/** Returns the name of a kind's schema; that of a custom kind begins with its reversed group, as upstream. */
function schemaNameOf(resource: Resource): string {
  const { group, version, kind } = resource;
  return kubernetesSchemaName(group, version, kind) ??
    [...group.split(".").reverse(), version, kind].filter((part) => part !== "").join(".");
}

/** Collects the schemas that a schema refers to, by name. */
function closure(schema: unknown, found: JsonObject): void {
  if (Array.isArray(schema)) schema.forEach((item) => closure(item, found));
  if (!isObject(schema)) return;
  const name = typeof schema.$ref === "string" ? schema.$ref.slice(REF.length) : undefined;
  if (name !== undefined && !(name in found) && name in KUBERNETES_DEFINITIONS) {
    found[name] = KUBERNETES_DEFINITIONS[name];
    closure(found[name], found);
  }
  Object.values(schema).forEach((member) => closure(member, found));
}

function customSchema(resource: Resource): JsonObject {
  const schema = isObject(resource.openApi) ? resource.openApi : { type: "object" };
  const properties = isObject(schema.properties) ? schema.properties : {};
  return {
    ...schema,
    properties: {
      ...properties,
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { allOf: [METADATA_REF] },
    },
    [GVK]: [gvkOf(resource)],
  };
}

const QUERY = ["dryRun", "fieldManager", "fieldValidation"].map((name) => ({
  name,
  in: "query",
  schema: { type: "string", uniqueItems: true },
}));

function operation(resource: Resource, action: string): JsonObject {
  const $ref = `${REF}${schemaNameOf(resource)}`;
  return {
    responses: {
      200: { description: "OK", content: { "application/json": { schema: { $ref } } } },
    },
    "x-kubernetes-action": action,
    [GVK]: gvkOf(resource),
    ...(action !== "list" && action !== "get" && { parameters: QUERY }),
  };
}

function pathsOf(resource: Resource): JsonObject {
  const scope = resource.namespaced ? "/namespaces/{namespace}" : "";
  const collection = `/${pathOf(resource)}${scope}/${resource.resource}`;
  if (resource.review) return { [collection]: { post: operation(resource, "post") } };
  return {
    ...(resource.namespaced && {
      [`/${pathOf(resource)}/${resource.resource}`]: { get: operation(resource, "list") },
    }),
    [collection]: { get: operation(resource, "list"), post: operation(resource, "post") },
    [`${collection}/{name}`]: {
      get: operation(resource, "get"),
      put: operation(resource, "put"),
      patch: operation(resource, "patch"),
    },
  };
}

/** Returns paths and schemas of one group and version; undefined if it has no kinds. */
export function openApiV3(registry: Registry, groupVersion: GroupVersion): JsonObject | undefined {
  const resources = registry.all().filter((one) => pathOf(one) === pathOf(groupVersion));
  if (resources.length === 0) return undefined;
  const schemas: JsonObject = {};
  const paths: JsonObject = {};
  for (const resource of resources) {
    const name = schemaNameOf(resource);
    const known = KUBERNETES_DEFINITIONS[name];
    schemas[name] = !resource.custom && known !== undefined ? known : customSchema(resource);
    closure(schemas[name], schemas);
    Object.assign(paths, pathsOf(resource));
  }
  return {
    openapi: "3.0.0",
    info: { title: "Milepost", version: "v1.36.3" },
    paths,
    components: { schemas },
  };
}

/**
 * Serves `/openapi/v2`: only a header, since kubectl finds what it needs in version 3. Clients that ask
 * for protobuf get the same header: fields 1 (swagger) and 2 (info: title, version).
 */
export function openApiV2(request: Request): Response {
  const accepted = request.headers.get("accept") ?? "";
  if (!accepted.includes("protobuf")) {
    return Response.json({
      swagger: "2.0",
      info: { title: "Milepost", version: "v1.36.3" },
      paths: {},
      definitions: {},
    });
  }
  const field = (tag: number, bytes: Uint8Array) => [tag << 3 | 2, bytes.length, ...bytes];
  const text = (value: string) => new TextEncoder().encode(value);
  const info = new Uint8Array([...field(1, text("Milepost")), ...field(2, text("v1.36.3"))]);
  const body = new Uint8Array([...field(1, text("2.0")), ...field(2, info)]);
  const type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
  return new Response(body, { headers: { "content-type": type } });
}
