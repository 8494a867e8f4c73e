/** CustomResourceDefinitions: what must hold between their fields, so that their kind can be served. */
import { isObject, objectAt, objectsAt, textAt } from "../../../crds/json.ts";
import type { ApiObject, SentObject } from "../objects/api_object.ts";
import { BUILT_IN } from "./built_in_kinds.ts";
import type { Resource } from "./resource.ts";
import { compileSchema } from "../schemas/engine.ts";
import { dnsLabel1035 } from "../schemas/rules/names.ts";
import { structuralProblems } from "../schemas/structural.ts";
import type { StatusCause } from "../objects/status_error.ts";

/** Says whether a kind is CustomResourceDefinition. */
export function isDefinition({ group, kind }: Pick<Resource, "group" | "kind">): boolean {
  return group === "apiextensions.k8s.io" && kind === "CustomResourceDefinition";
}

function wrong(field: string, value: unknown, detail: string): StatusCause {
  const message = `Invalid value: ${JSON.stringify(value)}: ${detail}`;
  return { field, reason: "FieldValueInvalid", message };
}

/** A definition with the names and the conversion that it need not say. */
export function definitionDefaults(sent: SentObject): SentObject {
  const spec = objectAt(sent, "spec");
  const names = objectAt(spec, "names");
  const kind = textAt(names, "kind") ?? "";
  const singular = textAt(names, "singular") || kind.toLowerCase();
  const listKind = textAt(names, "listKind") || `${kind}List`;
  const conversion = isObject(spec.conversion) ? spec.conversion : { strategy: "None" };
  return { ...sent, spec: { ...spec, names: { ...names, singular, listKind }, conversion } };
}

/** What is wrong with a version's schema: it says what each field is, and its rules compile. */
function schemaProblem(version: unknown, index: number): StatusCause[] {
  const { openAPIV3Schema } = objectAt(version, "schema");
  const field = `spec.versions[${index}].schema.openAPIV3Schema`;
  if (openAPIV3Schema === undefined) {
    const message = "Required value: schemas are required";
    return [{ field, reason: "FieldValueRequired", message }];
  }
  try {
    compileSchema(openAPIV3Schema, {});
    return structuralProblems(openAPIV3Schema, field);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return [wrong(field, "", error.message)];
  }
}

/** What is wrong with a definition besides its form. */
export function definitionProblems({ metadata, spec }: ApiObject): StatusCause[] {
  const group = textAt(spec, "group") ?? "";
  const plural = textAt(objectAt({ spec }, "spec").names, "plural") ?? "";
  const versions = objectsAt(spec, "versions");
  const storage = versions.filter((version) => version.storage === true).length;
  const names = versions.map((version) => textAt(version, "name"));
  return [
    ...(metadata.name === `${plural}.${group}`
      ? []
      : [wrong("metadata.name", metadata.name, `must be spec.names.plural+"."+spec.group`)]),
    ...(storage === 1
      ? []
      : [wrong("spec.versions", names, "must have exactly one version marked as storage version")]),
    ...(new Set(names).size === names.length
      ? []
      : [wrong("spec.versions", names, "must have each version once")]),
    ...(BUILT_IN.some((kind) => kind.group === group)
      ? [wrong("spec.group", group, "is a group of Kubernetes' own")]
      : []),
    ...dnsLabel1035(plural).map((problem) => wrong("spec.names.plural", plural, problem)),
    ...versions.flatMap(schemaProblem),
  ];
}
