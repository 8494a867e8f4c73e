/** Validation of ConfigMaps and Secrets: keys, size, and the immutable flag. */
import { at, objectAt, sameJson, textAt } from "../../../../platform/base/json.ts";
import {
  forbidden,
  invalid,
  required,
  type StatusCause,
  tooLong,
} from "../../../../crds/status_cause.ts";
import { checkSyntax } from "./field_checks.ts";
import { byteLength } from "./metadata.ts";
import { dataKey, type Syntax } from "../../../../crds/name_syntax.ts";

const MAX_BYTES = 1024 * 1024;

const safeKey: Syntax = (key) =>
  key === "." || key.startsWith("..")
    ? ["a valid config key must not be '.' or start with '..'"]
    : dataKey(key);

function checkKeys(object: unknown, field: string): StatusCause[] {
  return Object.keys(objectAt(object, field)).flatMap((key) =>
    checkSyntax(`${field}[${key}]`, key, safeKey)
  );
}

function checkSize(object: unknown, fields: readonly string[]): StatusCause[] {
  const values = fields.flatMap((field) => Object.values(objectAt(object, field)));
  const bytes = values.reduce((sum: number, value) => sum + byteLength(value), 0);
  return bytes > MAX_BYTES ? [tooLong(fields[0] ?? "", MAX_BYTES)] : [];
}

/** Returns the changes that an immutable object refuses. */
function checkImmutable(object: unknown, old: unknown, fields: readonly string[]): StatusCause[] {
  if (at(old, "immutable") !== true) return [];
  const causes = at(object, "immutable") === true
    ? []
    : [forbidden("immutable", "field is immutable when `immutable` is set")];
  return [
    ...causes,
    ...fields.filter((field) => !sameJson(objectAt(object, field), objectAt(old, field)))
      .map((field) => forbidden(field, "field is immutable when `immutable` is set")),
  ];
}

/** Rules of kind ConfigMap. */
export function checkConfigMap(object: unknown, old?: unknown): StatusCause[] {
  const both = Object.keys(objectAt(object, "data")).filter((key) =>
    Object.hasOwn(objectAt(object, "binaryData"), key)
  );
  return [
    ...checkKeys(object, "data"),
    ...checkKeys(object, "binaryData"),
    ...both.map((key) => invalid(`data[${key}]`, key, "duplicate of key present in binaryData")),
    ...checkSize(object, ["data", "binaryData"]),
    ...checkImmutable(object, old, ["data", "binaryData"]),
  ];
}

/** Required keys of Secrets, by type. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
};

function checkNeeded(object: unknown): StatusCause[] {
  return (NEEDED[textAt(object, "type") ?? ""] ?? [])
    .filter((key) => !Object.hasOwn(objectAt(object, "data"), key))
    .map((key) => required(`data[${key}]`));
}

/** Rules of kind Secret. */
export function checkSecret(object: unknown, old?: unknown): StatusCause[] {
  const type = textAt(object, "type");
  const before = textAt(old, "type");
  return [
    ...checkKeys(object, "data"),
    ...checkNeeded(object),
    ...checkSize(object, ["data"]),
    ...checkImmutable(object, old, ["data"]),
    ...(old !== undefined && type !== before ? [invalid("type", type, "field is immutable")] : []),
  ];
}
