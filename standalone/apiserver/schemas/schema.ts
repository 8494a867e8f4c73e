/** Schema of a kind: pruning, defaults and validation. */
import { at } from "../../../platform/base/json.ts";
import type { StatusCause } from "../../../crds/status_cause.ts";
import { checkRules } from "./cel_rules.ts";
import { applyDefaults } from "./schema_defaults.ts";
import { createChecker } from "./json_schema.ts";
import { prune } from "./pruning.ts";
import { checkMetadata } from "./rules/metadata.ts";
import { createStructure, METADATA_REF } from "./structure.ts";
import { checkStructure } from "./structure_checks.ts";

/** Compiled schema of a kind. No method changes its argument. */
export interface Schema {
  /** Returns a copy without the fields that the schema does not know. */
  prune(value: unknown): unknown;
  /** Returns a copy with defaults filled in. */
  applyDefaults(value: unknown): unknown;
  /** Returns the problems of a value; `old` is the stored object on update, for transition rules and immutability. */
  validate(value: unknown, old?: unknown): StatusCause[];
  /** Returns the paths of the fields that `prune` would drop, such as `spec.containers[0].imge`. */
  unknownFields(value: unknown): string[];
}

/**
 * Compiles an OpenAPI v3 schema: a CRD's `openAPIV3Schema`, or a schema of Kubernetes, which is `native`: free-form
 * objects are kept, zero values are not defaults, null means absent, and `status` may be partial. ajv compiles at
 * the first validation. Throws a RangeError if the schema has an unknown reference.
 */
export function compileSchema(openApi: unknown, native = false): Schema {
  const structure = createStructure(openApi, native);
  const metadata = createStructure(METADATA_REF, true);
  const check = createChecker(openApi);
  const checkMetadataForm = createChecker({
    type: "object",
    properties: { metadata: METADATA_REF },
  });
  const clean = (value: unknown, onUnknown?: (path: string) => void) =>
    prune(value, structure, { metadata, native, onUnknown });
  return {
    prune: (value) => clean(value),
    applyDefaults: (value) => applyDefaults(value, structure),
    unknownFields(value) {
      const unknown: string[] = [];
      clean(value, (path) => unknown.push(path));
      return unknown;
    },
    validate(value, old) {
      if (native) return check(value).filter((cause) => !isPartialStatus(cause));
      const own = at(value, "metadata");
      const causes = [
        ...checkMetadataForm(value),
        ...check(value),
        ...checkStructure(value, structure),
        ...(own === undefined ? [] : checkMetadata(own)),
      ];
      return causes.length > 0 ? unique(causes) : checkRules(value, old, structure);
    },
  };
}

/** In the built-in kinds a status may be partial: Go fills in zero values. */
function isPartialStatus(cause: StatusCause): boolean {
  return cause.reason === "FieldValueRequired" && /^status\b/.test(cause.field);
}

function unique(causes: StatusCause[]): StatusCause[] {
  const same = Map.groupBy(causes, ({ field, message }) => `${field} ${message}`);
  return [...same.values()].flatMap((all) => all.slice(0, 1));
}
