/** Structural schema: OpenAPI with resolved references, for pruning, defaults and CEL rules. */
import {
  asList,
  asObject,
  asTexts,
  at,
  isObject,
  type JsonObject,
} from "../../../platform/base/json.ts";
import kubernetesSchemas from "../../../crds/kubernetes_schemas.json" with { type: "json" };
import { type Fill, fillOf } from "./kubernetes_defaults.ts";
import { isZeroDefault } from "../../../crds/openapi_schema.ts";
import { under } from "../../../crds/status_cause.ts";

/** OpenAPI schemas of Kubernetes by name. */
export const KUBERNETES_DEFINITIONS: Readonly<JsonObject> = kubernetesSchemas;
/** Beginning of references to {@link KUBERNETES_DEFINITIONS}. */
export const REF = "#/components/schemas/";
/** Reference to the schema of metadata. */
export const METADATA_REF = { $ref: `${REF}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta` };

/** A level of a structural schema. References resolve on demand, so that it may be recursive. */
export interface Structure {
  /** JSON type; undefined if several are allowed. */
  readonly type: string | undefined;
  /** The keywords of this level, with references resolved. */
  readonly keywords: JsonObject;
  /** Returns the schema of a property; undefined if there is none. */
  property(name: string): Structure | undefined;
  /** Names of the properties, in the schema's order. */
  readonly propertyNames: readonly string[];
  /** The schema of values under other keys; undefined if only named properties are known. */
  additional(): Structure | undefined;
  /** The schema of the value under a key, of whichever kind; undefined if the key is not known. */
  member(key: string): Structure | undefined;
  /** The schema of a list's items. */
  items(): Structure | undefined;
  /** Unknown keys are kept. */
  readonly preserves: boolean;
  /** The object has its own apiVersion, kind and metadata. */
  readonly embedded: boolean;
  readonly nullable: boolean;
  /** A Kubernetes quantity: numbers become text. */
  readonly quantity: boolean;
  readonly listType: "atomic" | "set" | "map" | undefined;
  readonly mapKeys: readonly string[];
  /** The default to apply, or undefined. */
  readonly default: unknown;
  /** Fills in further defaults of an object, if its type has any. */
  readonly fill: Fill | undefined;
}

const QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const LIST_TYPES = ["atomic", "set", "map"] as const;

/**
 * Reads an OpenAPI schema as a structure. A `native` one is of Kubernetes' published OpenAPI: objects without
 * properties are free-form, and defaults that are Go's zero values are ignored. Throws a RangeError for an
 * unknown reference.
 */
export function createStructure(root: unknown, native: boolean): Structure {
  const known = new Map<unknown, Structure>();

  function resolve(schema: unknown): { keywords: JsonObject; refs: string[] } {
    const { $ref, allOf, ...own } = asObject(schema);
    const refs: string[] = [];
    let keywords: JsonObject = own;
    const parents = [...asList(allOf).filter((part) => isObject(part) && "$ref" in part)];
    const rest = asList(allOf).filter((part) => !parents.includes(part));
    if (rest.length > 0) keywords = { ...keywords, allOf: rest };
    if (typeof $ref === "string") parents.push({ $ref });
    for (const parent of parents) {
      const name = String(at(parent, "$ref")).split("/").at(-1) ?? "";
      if (!Object.hasOwn(KUBERNETES_DEFINITIONS, name)) {
        throw new RangeError(`schema refers to ${name}, which is not defined`);
      }
      const inner = resolve(KUBERNETES_DEFINITIONS[name]);
      refs.push(name, ...inner.refs);
      keywords = { ...inner.keywords, ...keywords };
    }
    return { keywords, refs };
  }

  function build(schema: unknown): Structure {
    const cached = known.get(schema);
    if (cached !== undefined) return cached;
    const { keywords, refs } = resolve(schema);
    const properties = asObject(keywords.properties);
    const rest = keywords.additionalProperties;
    const listType = keywords["x-kubernetes-list-type"];
    const quantity = refs.includes(QUANTITY);
    const intOrString = keywords["x-kubernetes-int-or-string"] === true ||
      keywords.format === "int-or-string";
    const type = typeof keywords.type === "string" ? keywords.type : undefined;
    const free = !isObject(keywords.properties) && !isObject(rest) && !quantity && !intOrString &&
      (type === undefined || type === "object");
    const value = keywords.default;
    const structure: Structure = {
      type,
      keywords,
      property: (name) => Object.hasOwn(properties, name) ? build(properties[name]) : undefined,
      propertyNames: Object.keys(properties),
      additional: () => isObject(rest) ? build(rest) : undefined,
      member: (key) => structure.property(key) ?? structure.additional(),
      items: () => keywords.items === undefined ? undefined : build(keywords.items),
      preserves: keywords["x-kubernetes-preserve-unknown-fields"] === true || rest === true ||
        (native && free),
      embedded: keywords["x-kubernetes-embedded-resource"] === true,
      nullable: keywords.nullable === true,
      quantity,
      listType: LIST_TYPES.find((name) => name === listType),
      mapKeys: asTexts(keywords["x-kubernetes-list-map-keys"]),
      default: native && isZeroDefault(value) ? undefined : value,
      fill: native ? fillOf(refs[0] ?? "") : undefined,
    };
    if (isObject(schema)) known.set(schema, structure);
    return structure;
  }
  return build(root);
}

/** Returns all that `visit` returns for the items or members of a value that its structure knows. */
export function flatMapKnown<T>(
  value: unknown,
  structure: Structure,
  path: string,
  visit: (item: unknown, known: Structure, path: string, key: string | number) => T[],
): T[] {
  if (Array.isArray(value)) {
    const items = structure.items();
    if (items === undefined) return [];
    return value.flatMap((item, index) => visit(item, items, under(path, index), index));
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const known = structure.member(key);
    return known === undefined ? [] : visit(item, known, under(path, key), key);
  });
}
