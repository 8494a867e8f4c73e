/** Schemas of the built-in kinds, with the rules that the API server checks beyond OpenAPI. */
import { asList, at, isObject } from "../../../platform/base/json.ts";
import type { StatusCause } from "../../../crds/status_cause.ts";
import { kindRules } from "./rules/rule_table.ts";
import { compileSchema, type Schema } from "./schema.ts";
import { KUBERNETES_DEFINITIONS, REF } from "./structure.ts";

/** Names of the OpenAPI schemas, by `group/version/kind`. */
function indexKinds(): ReadonlyMap<string, string> {
  const index = new Map<string, string>();
  for (const [name, schema] of Object.entries(KUBERNETES_DEFINITIONS)) {
    const kinds = asList(at(schema, "x-kubernetes-group-version-kind"));
    // Schemas that all groups share, such as DeleteOptions, are not kinds of one group.
    const [first] = kinds;
    if (kinds.length !== 1 || !isObject(first)) continue;
    index.set(`${first.group}/${first.version}/${first.kind}`, name);
  }
  return index;
}

const cache: { names?: ReadonlyMap<string, string>; readonly schemas: Map<string, Schema> } = {
  schemas: new Map(),
};

/** Returns the name of the OpenAPI schema of a kind, such as `io.k8s.api.batch.v1.Job`; undefined if unknown. */
export function kubernetesSchemaName(
  group: string,
  version: string,
  kind: string,
): string | undefined {
  cache.names ??= indexKinds();
  return cache.names.get(`${group}/${version}/${kind}`);
}

/** The real server reports a missing path of a volume's source at the volume. */
function renamed(cause: StatusCause): StatusCause {
  const match = /^(.*\.projected)\.sources\[\d+\]\.serviceAccountToken(\.path)$/.exec(cause.field);
  return match ? { ...cause, field: `${match[1]}${match[2]}` } : cause;
}

/** Adds the causes that are about other fields. */
function withOthers(causes: readonly StatusCause[], others: readonly StatusCause[]): StatusCause[] {
  const known = new Set(causes.map(({ field }) => field));
  return [...causes, ...others.filter(({ field }) => !known.has(field))];
}

/**
 * Returns the schema of a built-in kind, compiled on first use and cached; undefined for an unknown
 * kind. `validate` also checks names, labels, references between fields and immutable fields.
 */
export function kubernetesKindSchema(
  group: string,
  version: string,
  kind: string,
): Schema | undefined {
  const name = kubernetesSchemaName(group, version, kind);
  if (name === undefined) return undefined;
  const known = cache.schemas.get(name);
  if (known !== undefined) return known;
  const base = compileSchema({ $ref: `${REF}${name}` }, true);
  const rules = kindRules(group, kind);
  const schema: Schema = {
    ...base,
    validate(value, old) {
      const causes = base.validate(value, old).map(renamed);
      if (causes.length === 0) return rules(value, old);
      // A missing field does not prevent the other checks.
      const missing = causes.every(({ reason }) => reason === "FieldValueRequired");
      return missing ? withOthers(causes, rules(value, old)) : causes;
    },
  };
  cache.schemas.set(name, schema);
  return schema;
}
