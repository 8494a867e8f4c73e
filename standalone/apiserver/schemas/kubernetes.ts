/** Schemas of Kubernetes' own kinds, with the rules that its API server checks beyond OpenAPI. */
import { asList, at, isObject } from "../../../crds/json.ts";
import type { Cause } from "../objects/field_errors.ts";
import { compileSchema, KUBERNETES_DEFINITIONS, type Schema } from "./engine.ts";
import { applyNativeDefaults } from "./native_defaults.ts";
import { kindRules } from "./rules/registry.ts";

const SCHEMAS = "#/components/schemas/";

/** Names of the OpenAPI schemas, by `group/version/kind`. */
function indexKinds(): ReadonlyMap<string, string> {
  const index = new Map<string, string>();
  for (const [name, schema] of Object.entries(KUBERNETES_DEFINITIONS)) {
    const kinds = asList(at(schema, "x-kubernetes-group-version-kind"));
    // Schemas that every group shares, such as DeleteOptions, are no kinds of their own.
    const [first] = kinds;
    if (kinds.length !== 1 || !isObject(first)) continue;
    index.set(`${first.group}/${first.version}/${first.kind}`, name);
  }
  return index;
}

const cache: { names?: ReadonlyMap<string, string>; readonly schemas: Map<string, Schema> } = {
  schemas: new Map(),
};

/** Name of the OpenAPI schema of a kind, such as `io.k8s.api.batch.v1.Job`; undefined if unknown. */
export function kubernetesSchemaName(
  group: string,
  version: string,
  kind: string,
): string | undefined {
  cache.names ??= indexKinds();
  return cache.names.get(`${group}/${version}/${kind}`);
}

/** The real server names the field of the volume where a source of it lacks its path. */
function renamed(cause: Cause): Cause {
  const match = /^(.*\.projected)\.sources\[\d+\]\.serviceAccountToken(\.path)$/.exec(cause.field);
  return match ? { ...cause, field: `${match[1]}${match[2]}` } : cause;
}

/** The causes, and others about other fields. */
function withOthers(causes: readonly Cause[], others: readonly Cause[]): Cause[] {
  const known = new Set(causes.map(({ field }) => field));
  return [...causes, ...others.filter(({ field }) => !known.has(field))];
}

/**
 * The schema of one of Kubernetes' own kinds, compiled at first use and kept; undefined for a kind
 * that Kubernetes does not have. `validate` also checks names, labels, references between fields
 * and what may not change.
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
  const base = compileSchema({ $ref: `${SCHEMAS}${name}` }, { native: true });
  const rules = kindRules(group, kind);
  const schema: Schema = {
    ...base,
    applyDefaults: (value) => applyNativeDefaults(group, kind, base.applyDefaults(value)),
    validate(value, old) {
      const causes = base.validate(value, old).map(renamed);
      if (causes.length === 0) return rules(value, old);
      // What is missing keeps nobody from looking at the rest.
      const missing = causes.every(({ reason }) => reason === "FieldValueRequired");
      return missing ? withOthers(causes, rules(value, old)) : causes;
    },
  };
  cache.schemas.set(name, schema);
  return schema;
}
