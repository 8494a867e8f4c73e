/** CustomResourceDefinitions: what must hold between their fields, so that their kind can be served. */
import { type ApiObject, child, children, text } from "./object.ts";
import { BUILT_IN, type Resource } from "./resources.ts";
import { compileSchema } from "./schema/engine.ts";
import type { StatusCause } from "./status_error.ts";

/** Says whether a kind is CustomResourceDefinition. */
export function isDefinition({ group, kind }: Pick<Resource, "group" | "kind">): boolean {
  return group === "apiextensions.k8s.io" && kind === "CustomResourceDefinition";
}

function wrong(field: string, value: unknown, detail: string): StatusCause {
  const message = `Invalid value: ${JSON.stringify(value)}: ${detail}`;
  return { field, reason: "FieldValueInvalid", message };
}

/** What is wrong with a version's schema; compiling it is the check. */
function schemaProblem(version: unknown, index: number): StatusCause[] {
  const { openAPIV3Schema } = child(version, "schema");
  const field = `spec.versions[${index}].schema.openAPIV3Schema`;
  if (openAPIV3Schema === undefined) {
    const message = "Required value: schemas are required";
    return [{ field, reason: "FieldValueRequired", message }];
  }
  try {
    compileSchema(openAPIV3Schema, {});
    return [];
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return [wrong(field, "", error.message)];
  }
}

/** What is wrong with a definition besides its form. */
export function definitionProblems({ metadata, spec }: ApiObject): StatusCause[] {
  const group = text(spec, "group") ?? "";
  const plural = text(child({ spec }, "spec").names, "plural") ?? "";
  const versions = children(spec, "versions");
  const storage = versions.filter((version) => version.storage === true).length;
  const names = versions.map((version) => text(version, "name"));
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
    ...versions.flatMap(schemaProblem),
  ];
}
