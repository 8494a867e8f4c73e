/** Fields in the schemas of CustomResourceDefinitions that the cluster has. */
import { isObject } from "../platform/base/json.ts";

/** Returns the schema of a field; undefined if the API server drops the field. */
export function fieldOf(schema: unknown, name: string): unknown {
  if (!isObject(schema)) return undefined;
  const { properties } = schema;
  if (isObject(properties) && Object.hasOwn(properties, name)) return properties[name];
  // Everything is kept below, so that the field is there for all purposes.
  return schema["x-kubernetes-preserve-unknown-fields"] === true ? schema : undefined;
}
