/** Defaults and validation of CustomResourceDefinitions. */
import { asTexts, at, isObject, objectAt, objectsAt, textAt } from "../../../platform/base/json.ts";
import type { ApiObject, SentObject } from "../objects/api_object.ts";
import { invalid, required, type StatusCause } from "../../../crds/status_cause.ts";
import { dnsLabel1035 } from "../../../crds/name_syntax.ts";
import { compileSchema } from "../schemas/schema.ts";
import { checkSyntax } from "../schemas/rules/field_checks.ts";
import { structuralProblems } from "../schemas/structural_rules.ts";
import { BUILT_IN } from "./built_in_kinds.ts";
import type { Resource } from "./api_resource.ts";

/** Says if a kind is CustomResourceDefinition. */
export function isDefinition({ group, kind }: Pick<Resource, "group" | "kind">): boolean {
  return group === "apiextensions.k8s.io" && kind === "CustomResourceDefinition";
}

/** Fills in default names and the default conversion. */
export function definitionDefaults(sent: SentObject): SentObject {
  const spec = objectAt(sent, "spec");
  const names = objectAt(spec, "names");
  const kind = textAt(names, "kind") ?? "";
  const singular = textAt(names, "singular") || kind.toLowerCase();
  const listKind = textAt(names, "listKind") || `${kind}List`;
  const conversion = isObject(spec.conversion) ? spec.conversion : { strategy: "None" };
  return { ...sent, spec: { ...spec, names: { ...names, singular, listKind }, conversion } };
}

/** Returns the part of a definition's status that follows its spec; versions that were stored once stay. */
export function specStatus(definition: unknown) {
  const stored = objectsAt(definition, "spec", "versions").filter((one) => one.storage === true);
  const before = asTexts(at(definition, "status", "storedVersions"));
  return {
    acceptedNames: objectAt(definition, "spec", "names"),
    storedVersions: [...new Set([...before, ...stored.map((one) => textAt(one, "name") ?? "")])],
  };
}

/** Returns the problems of a version's schema. */
function schemaProblem(version: unknown, index: number): StatusCause[] {
  const { openAPIV3Schema } = objectAt(version, "schema");
  const path = `spec.versions[${index}].schema.openAPIV3Schema`;
  if (openAPIV3Schema === undefined) return [required(path, "schemas are required")];
  try {
    compileSchema(openAPIV3Schema);
    return structuralProblems(openAPIV3Schema, path);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return [invalid(path, "", error.message)];
  }
}

/** Returns the problems of a definition that its own schema does not find. */
export function definitionProblems({ metadata, spec }: ApiObject): StatusCause[] {
  const group = textAt(spec, "group") ?? "";
  const plural = textAt(objectAt({ spec }, "spec").names, "plural") ?? "";
  const versions = objectsAt(spec, "versions");
  const storage = versions.filter((version) => version.storage === true).length;
  const names = versions.map((version) => textAt(version, "name"));
  return [
    ...(metadata.name === `${plural}.${group}`
      ? []
      : [invalid("metadata.name", metadata.name, `must be spec.names.plural+"."+spec.group`)]),
    ...(storage === 1 ? [] : [
      invalid("spec.versions", names, "must have exactly one version marked as storage version"),
    ]),
    ...(new Set(names).size === names.length
      ? []
      : [invalid("spec.versions", names, "must not repeat a version")]),
    ...(BUILT_IN.some((kind) => kind.group === group)
      ? [invalid("spec.group", group, "must not be a group of Kubernetes itself")]
      : []),
    ...checkSyntax("spec.names.plural", plural, dnsLabel1035),
    ...versions.flatMap(schemaProblem),
  ];
}
