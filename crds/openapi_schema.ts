/** Structural OpenAPI schemas of CustomResourceDefinitions, made from zod schemas. */
import { z } from "zod";
import kubernetesSchemas from "./kubernetes_schemas.json" with { type: "json" };
import { isObject } from "../platform/base/json.ts";
import { OPENAPI_NAME } from "../platform/kube/kubernetes.ts";
import { CONDITION_REASON, CONDITION_TYPE } from "./name_syntax.ts";

/** An OpenAPI schema, as a CRD carries one. */
export type OpenApiSchema = { [key: string]: unknown };

const OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const CONDITION = "io.k8s.apimachinery.pkg.apis.meta.v1.Condition";

/** The form of a quantity such as `1.5Gi`. */
const QUANTITY_PATTERN =
  "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

/** Keys of Kubernetes' own OpenAPI that a CRD may carry. */
const KEPT = new Set([
  "type",
  "format",
  "default",
  "required",
  "enum",
  "nullable",
  "pattern",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-int-or-string",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-validations",
]);

const catalogue: ReadonlyMap<string, unknown> = new Map(Object.entries(kubernetesSchemas));

/** The fields of metadata inside a template that the API server keeps. */
function embeddedMetadata(): OpenApiSchema {
  const texts = { type: "object", additionalProperties: { type: "string" } };
  return {
    type: "object",
    properties: {
      annotations: texts,
      finalizers: { type: "array", items: { type: "string" } },
      labels: texts,
      name: { type: "string" },
      namespace: { type: "string" },
    },
  };
}

/** Bounds of a condition, which its Go type has as markers and Kubernetes' OpenAPI leaves out. */
const CONDITION_BOUNDS: Readonly<Record<string, OpenApiSchema>> = {
  message: { maxLength: 32_768 },
  observedGeneration: { minimum: 0 },
  reason: { minLength: 1, maxLength: 1_024, pattern: CONDITION_REASON.source },
  status: { enum: ["True", "False", "Unknown"] },
  type: { maxLength: 316, pattern: CONDITION_TYPE },
};

const WELL_KNOWN: Readonly<Record<string, () => OpenApiSchema>> = {
  [OBJECT_META]: embeddedMetadata,
  [QUANTITY]: () => ({
    anyOf: [{ type: "integer" }, { type: "string" }],
    pattern: QUANTITY_PATTERN,
    "x-kubernetes-int-or-string": true,
  }),
  [INT_OR_STRING]: () => ({
    anyOf: [{ type: "integer" }, { type: "string" }],
    "x-kubernetes-int-or-string": true,
  }),
  [CONDITION]: () => {
    const schema = structural(catalogue.get(CONDITION));
    for (const [name, bounds] of Object.entries(CONDITION_BOUNDS)) {
      if (isObject(schema.properties)) Object.assign(schema.properties[name] ??= {}, bounds);
    }
    return schema;
  },
};

/** The zero values that Kubernetes' OpenAPI gives as defaults: in a CRD they would hide a missing field. */
export function isZeroDefault(value: unknown): boolean {
  return value === "" || value === 0 || value === false ||
    (isObject(value) && Object.keys(value).length === 0);
}

function withoutZeroDefault(schema: OpenApiSchema): OpenApiSchema {
  if (isZeroDefault(schema.default)) delete schema.default;
  return schema;
}

/**
 * Properties with zero defaults removed, but for those that a marker of their Go type gave: of the names of references, and
 * of switches.
 */
function properties(schema: OpenApiSchema): OpenApiSchema {
  const source = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.fromEntries(
    Object.entries(source).map(([name, property]) => {
      const value = structural(property);
      const isMarked = name === "name" || value.default === false;
      return [name, isMarked && !required.includes(name) ? value : withoutZeroDefault(value)];
    }),
  );
}

/** Whether an object is a reference by name, whose optional name is "" if it has none. */
function isLocalReference({ properties }: OpenApiSchema): boolean {
  return isObject(properties) && isObject(properties.name) && properties.name.default === "";
}

/** One schema of Kubernetes' OpenAPI with every reference written out. */
function structural(source: unknown): OpenApiSchema {
  if (!isObject(source)) return {};
  if (typeof source.$ref === "string") return named(source.$ref.split("/").at(-1) ?? "");
  const all = Array.isArray(source.allOf) ? source.allOf : [];
  const result: OpenApiSchema = Object.assign({}, ...all.map((part) => structural(part)));
  for (const [key, value] of Object.entries(source)) if (KEPT.has(key)) result[key] = value;
  if (isObject(source.properties)) result.properties = properties(source);
  if (isLocalReference(result)) result["x-kubernetes-map-type"] = "atomic";
  if (source.items !== undefined) result.items = withoutZeroDefault(structural(source.items));
  if (isObject(source.additionalProperties)) {
    result.additionalProperties = withoutZeroDefault(structural(source.additionalProperties));
  }
  return result;
}

/** The schema that Kubernetes' OpenAPI has by that name. Throws if it has none. */
function named(name: string): OpenApiSchema {
  const known = WELL_KNOWN[name];
  if (known) return known();
  const source = catalogue.get(name);
  if (source === undefined) {
    throw new RangeError(
      `no schema of Kubernetes is named ${name}; see crds/kubernetes_schemas.json`,
    );
  }
  return structural(source);
}

const INTEGER_RANGES = [[-2147483648, 2147483647], [
  Number.MIN_SAFE_INTEGER,
  Number.MAX_SAFE_INTEGER,
]];

/** Mends one node of zod's JSON schema into what a structural schema may have. */
function mend(node: OpenApiSchema): void {
  delete node.$schema;
  if (node.type === "object" && isObject(node.properties)) delete node.additionalProperties;
  // The API server drops an empty list of properties, and kubectl would apply it for ever.
  if (isObject(node.properties) && Object.keys(node.properties).length === 0) {
    delete node.properties;
  }
  if (isObject(node.additionalProperties) && Object.keys(node.additionalProperties).length === 0) {
    delete node.additionalProperties;
  }
  delete node.propertyNames;
  if ("const" in node) delete node.const;
  // zod joins alternatives that are only types; a structural schema has one type.
  if (Array.isArray(node.type)) {
    node.anyOf = node.type.map((type) => ({ type }));
    delete node.type;
  }
  for (const [low, high] of INTEGER_RANGES) {
    if (node.minimum === low) delete node.minimum;
    if (node.maximum === high) delete node.maximum;
  }
}

/**
 * The structural OpenAPI schema of a zod schema: lists, integer formats, defaults and CEL rules come
 * from its metadata, what Kubernetes defines from the generated file.
 */
export function openApiSchema(schema: z.ZodType): OpenApiSchema {
  const json = z.toJSONSchema(schema, {
    unrepresentable: "any",
    io: "input",
    reused: "inline",
    override: ({ zodSchema, jsonSchema }) => {
      const name = z.globalRegistry.get(zodSchema)?.[OPENAPI_NAME];
      if (typeof name === "string") {
        delete jsonSchema[OPENAPI_NAME];
        delete jsonSchema.embeddedMetadata;
        for (const [key, value] of Object.entries(named(name))) {
          if (!(key in jsonSchema)) jsonSchema[key] = value;
        }
      }
    },
  });
  return walk(json);
}

/** The keys of a list map have a default or are required; a reference's `name` has neither by itself. */
function requireKeys(item: OpenApiSchema, keys: unknown): void {
  if (!Array.isArray(keys) || !isObject(item.properties)) return;
  const required: unknown[] = Array.isArray(item.required) ? item.required : [];
  const open = keys.filter((key) => {
    const property = isObject(item.properties) ? item.properties[key] : undefined;
    return isObject(property) && !("default" in property) && !required.includes(key);
  });
  if (open.length > 0) item.required = [...required, ...open];
}

function walk(node: unknown): OpenApiSchema {
  if (!isObject(node)) return {};
  mend(node);
  if (isObject(node.properties)) {
    for (const child of Object.values(node.properties)) walk(child);
  }
  if (isObject(node.items)) requireKeys(node.items, node["x-kubernetes-list-map-keys"]);
  if (Array.isArray(node.required)) node.required.sort();
  if (isObject(node.items)) walk(node.items);
  if (isObject(node.additionalProperties)) walk(node.additionalProperties);
  return node;
}

/**
 * Mends a schema in place into what upstream's generator makes of it: it leaves Kubernetes' enumerations, and defaults
 * that name a member of one, to Kubernetes, and has volume mounts of a patch by the name of their volume.
 */
export function asUpstreamGenerates(node: unknown): void {
  if (!isObject(node)) return;
  if (Array.isArray(node.enum)) {
    delete node.enum;
    delete node.default;
  }
  const { properties, items, additionalProperties } = node;
  for (const child of isObject(properties) ? Object.values(properties) : []) {
    asUpstreamGenerates(child);
  }
  if (isObject(properties) && isObject(properties.volumeMounts)) {
    properties.volumeMounts["x-kubernetes-list-map-keys"] = ["name"];
  }
  asUpstreamGenerates(items);
  asUpstreamGenerates(additionalProperties);
}
