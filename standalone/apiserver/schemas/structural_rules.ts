/** Structural-schema rules that the schema of a definition must meet. */
import { asList, at, isObject, textAt } from "../../../platform/base/json.ts";
import { invalid, required, type StatusCause } from "../../../crds/status_cause.ts";
import { celProblem } from "./cel_rules.ts";

/**
 * Returns the problems of an OpenAPI schema: fields without a type, lists without items, CEL rules that
 * do not parse. CEL rules are not type-checked.
 */
export function structuralProblems(schema: unknown, path: string): StatusCause[] {
  if (!isObject(schema)) return [];
  const own = schema["x-kubernetes-int-or-string"] === true ||
      schema["x-kubernetes-preserve-unknown-fields"] === true || textAt(schema, "type")
    ? []
    : [required(`${path}.type`, "must not be empty for specified object fields")];
  if (schema.type === "array" && !isObject(schema.items)) {
    own.push(required(`${path}.items`, "must be specified"));
  }
  return [...own, ...ruleProblems(schema, path), ...innerProblems(schema, path)];
}

function innerProblems(schema: unknown, path: string): StatusCause[] {
  const properties = Object.entries(Object(at(schema, "properties")));
  return [
    ...properties.flatMap(([name, inner]) =>
      structuralProblems(inner, `${path}.properties[${name}]`)
    ),
    ...structuralProblems(at(schema, "items"), `${path}.items`),
    ...structuralProblems(at(schema, "additionalProperties"), `${path}.additionalProperties`),
  ];
}

function ruleProblems(schema: unknown, path: string): StatusCause[] {
  return asList(at(schema, "x-kubernetes-validations")).flatMap((raw, index) => {
    const rule = textAt(raw, "rule") ?? "";
    const field = `${path}.x-kubernetes-validations[${index}].rule`;
    if (rule === "") return [required(field)];
    const problem = celProblem(rule);
    return problem === undefined ? [] : [invalid(field, rule, `compilation failed: ${problem}`)];
  });
}
