/** JSON schema validation with ajv, with errors in the words of Kubernetes. */
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { RE2JS } from "re2js";
import { asList, asTexts, at, isObject, type JsonObject } from "../../../platform/base/json.ts";
import {
  duplicate,
  invalid,
  required,
  type StatusCause,
  tooLong,
  tooMany,
  under,
  unsupported,
  wrongType,
} from "../../../crds/status_cause.ts";
import { KUBERNETES_DEFINITIONS } from "./structure.ts";

/** Linear-time regular expressions for ajv, since patterns come from the authors of CRDs. */
function regExp(pattern: string) {
  const compiled = RE2JS.compile(pattern);
  // By its text ajv tells one expression from another.
  return { test: (text: string) => compiled.matcher(text).find(), toString: () => pattern };
}
regExp.code = "regExp";

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function between(least: number, most: number) {
  return (value: number) => Number.isInteger(value) && value >= least && value <= most;
}

/** Creates an ajv instance with formats; Kubernetes' schemas are at `kubernetes#/components/schemas/…`. */
function createAjv(): Ajv {
  const ajv = new Ajv({
    strict: false,
    allErrors: true,
    validateSchema: false,
    verbose: true,
    logger: false,
    // The optimizer costs far more in compilation than it saves in validation.
    code: { regExp, optimize: false },
  });
  ajv.addFormat("int32", { type: "number", validate: between(-(2 ** 31), 2 ** 31 - 1) });
  ajv.addFormat("int64", { type: "number", validate: between(-(2 ** 63), 2 ** 63) });
  ajv.addFormat("date-time", (text) => RFC3339.test(text) && !Number.isNaN(Date.parse(text)));
  ajv.addFormat("byte", (text) => BASE64.test(text.replaceAll(/[\r\n]/g, "")));
  ajv.addSchema({ $id: "kubernetes", components: { schemas: mapValues(KUBERNETES_DEFINITIONS) } });
  return ajv;
}

const FORMATS = new Set(["int32", "int64", "date-time", "byte"]);
const NESTED = ["items", "additionalProperties"];
const NESTED_LISTS = ["allOf", "anyOf", "oneOf"];

/** Replaces a schema by an equivalent one. */
type Rewrite = (schema: unknown) => unknown;

const asIs: Rewrite = (schema) => schema;

/**
 * Converts an OpenAPI 3.0 schema to a JSON schema for ajv. `share` may replace the schemas of
 * properties and items by references.
 */
function toJsonSchema(schema: unknown, share: Rewrite = asIs): unknown {
  if (!isObject(schema)) return schema;
  const { exclusiveMinimum, exclusiveMaximum, format, default: _default, ...rest } = schema;
  const result: JsonObject = { ...rest };
  if (typeof rest.$ref === "string" && !rest.$ref.startsWith("kubernetes")) {
    result.$ref = `kubernetes${rest.$ref}`;
  }
  if (typeof format === "string" && FORMATS.has(format)) result.format = format;
  if (exclusiveMinimum === true) {
    result.exclusiveMinimum = rest.minimum;
    delete result.minimum;
  }
  if (exclusiveMaximum === true) {
    result.exclusiveMaximum = rest.maximum;
    delete result.maximum;
  }
  for (const key of NESTED) {
    if (isObject(rest[key])) result[key] = share(toJsonSchema(rest[key], share));
  }
  // Errors in branches are recognized by their path in this schema, so that branches are not shared.
  if (isObject(rest.not)) result.not = toJsonSchema(rest.not);
  for (const key of NESTED_LISTS) {
    if (Array.isArray(rest[key])) result[key] = asList(rest[key]).map((it) => toJsonSchema(it));
  }
  if (isObject(rest.properties)) result.properties = mapValues(rest.properties, share);
  if (schema["x-kubernetes-int-or-string"] === true || format === "int-or-string") {
    delete result.oneOf;
    result.type = rest.nullable === true ? ["integer", "string", "null"] : ["integer", "string"];
    delete result.nullable;
  } else if (rest.nullable === true && typeof rest.type === "string") {
    result.type = [rest.type, "null"];
    if (Array.isArray(rest.enum)) result.enum = [...asList(rest.enum), null];
    delete result.nullable;
  }
  return result;
}

function mapValues(schemas: JsonObject, share: Rewrite = asIs): JsonObject {
  const entries = Object.entries(schemas);
  return Object.fromEntries(entries.map(([key, it]) => [key, share(toJsonSchema(it, share))]));
}

/** Smaller schemas compile as fast in place. */
const SHARED_MIN_LENGTH = 400;

/**
 * Replaces large schemas by references, so that each is compiled once: definitions repeat whole pod
 * templates.
 */
function createSchemaSharing(ajv: Ajv): Rewrite {
  const ids = new Map<string, string>();
  return (schema) => {
    if (!isObject(schema) || !isObject(schema.properties)) return schema;
    const text = JSON.stringify(schema);
    if (text.length < SHARED_MIN_LENGTH) return schema;
    let id = ids.get(text);
    if (id === undefined) {
      id = `shared-${ids.size}`;
      ids.set(text, id);
      ajv.addSchema({ ...schema, $id: id });
    }
    return { $ref: id };
  };
}

function createCompiler() {
  const ajv = createAjv();
  const share = createSchemaSharing(ajv);
  return (schema: unknown) => ajv.compile(asSchema(toJsonSchema(schema, share)));
}

const compiler: { value?: ReturnType<typeof createCompiler> } = {};

/**
 * Returns a function that validates values against a JSON schema, which may refer to those of Kubernetes. It compiles
 * the schema at the first call, and throws if that is not possible.
 */
export function createChecker(schema: unknown): (value: unknown) => StatusCause[] {
  let check: ValidateFunction | undefined;
  return (value) => {
    compiler.value ??= createCompiler();
    check ??= compiler.value(schema);
    return check(value) ? [] : causesOf(check.errors ?? [], value);
  };
}

function asSchema(value: unknown): JsonObject | boolean {
  return isObject(value) || typeof value === "boolean" ? value : {};
}

/**
 * Errors in the branches of a combination are dropped in favour of the combination's own, except for a
 * field that its first branch requires.
 */
function isInsideCombination(error: ErrorObject): boolean {
  if (/\/(anyOf|oneOf)\/0\/required$/.test(error.schemaPath)) return false;
  return /\/(anyOf|oneOf|not)\//.test(error.schemaPath);
}

function causesOf(errors: readonly ErrorObject[], value: unknown): StatusCause[] {
  return errors.filter((error) => !isInsideCombination(error))
    .map((error) => causeOf(error, fieldPath(error.instancePath, value)));
}

/** Converts `/spec/containers/0/name` to `spec.containers[0].name`. */
function fieldPath(pointer: string, value: unknown): string {
  let path = "";
  let here = value;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    path = under(path, Array.isArray(here) ? Number(key) : key);
    here = Array.isArray(here) ? here[Number(key)] : at(here, key);
  }
  return path;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function limitOf(error: ErrorObject): number {
  return Number(at(error.params, "limit"));
}

/** Returns the number of items or members of the value that an error is about. */
function sizeOf(error: ErrorObject): number {
  return Object.keys(Object(error.data)).length;
}

/** Returns the problem of a field. */
type Problem = (error: ErrorObject, field: string) => StatusCause;

/** Returns a problem in the words of Kubernetes; it shows the value, or what `shown` makes of it. */
function inBody(
  words: (error: ErrorObject) => string,
  shown: (error: ErrorObject) => unknown = (error) => error.data,
): Problem {
  return (error, field) => invalid(field, shown(error), `${field} in body ${words(error)}`);
}

/** Problem of each keyword. */
const TEXTS: Readonly<Record<string, Problem>> = {
  required: (error, field) => required(under(field, String(at(error.params, "missingProperty")))),
  type: (error, field) => {
    const types = at(error.params, "type");
    const wanted = asTexts(types).filter((name) => name !== "null").join(",") || String(types);
    const actual = typeName(error.data);
    return wrongType(field, actual, `${field} in body must be of type ${wanted}: "${actual}"`);
  },
  enum: (error, field) =>
    unsupported(field, error.data, asList(error.schema).filter((it) => it !== null)),
  const: (error, field) => unsupported(field, error.data, [error.schema]),
  minimum: inBody((error) => `should be greater than or equal to ${limitOf(error)}`),
  maximum: inBody((error) => `should be less than or equal to ${limitOf(error)}`),
  exclusiveMinimum: inBody((error) => `should be greater than ${limitOf(error)}`),
  exclusiveMaximum: inBody((error) => `should be less than ${limitOf(error)}`),
  multipleOf: inBody((error) => `should be a multiple of ${error.schema}`),
  minLength: inBody((error) => `should be at least ${limitOf(error)} chars long`),
  maxLength: (error, field) => tooLong(field, limitOf(error)),
  pattern: inBody((error) => `should match '${String(error.schema)}'`),
  format: (error, field) =>
    wrongType(
      field,
      error.data,
      `${field} in body must be of type ${error.schema}: ${JSON.stringify(error.data)}`,
    ),
  minItems: inBody((error) => `should have at least ${limitOf(error)} items`, sizeOf),
  maxItems: (error, field) => tooMany(field, sizeOf(error), limitOf(error)),
  minProperties: inBody((error) => `should have at least ${limitOf(error)} properties`, sizeOf),
  maxProperties: (error, field) => tooMany(field, sizeOf(error), limitOf(error)),
  uniqueItems: (error, field) => duplicate(field, error.data),
  anyOf: (_error, field) =>
    invalid(field, "", `"${field}" must validate at least one schema (anyOf)`),
  oneOf: (_error, field) =>
    invalid(field, "", `"${field}" must validate one and only one schema (oneOf)`),
  not: (_error, field) => invalid(field, "", `"${field}" must not validate the schema (not)`),
};

function causeOf(error: ErrorObject, field: string): StatusCause {
  const text = TEXTS[error.keyword];
  if (text !== undefined) return text(error, field);
  return invalid(field, error.data, error.message ?? `does not satisfy ${error.keyword}`);
}
