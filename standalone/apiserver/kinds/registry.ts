/** Registry of served kinds: the built-in ones and those of CustomResourceDefinitions. */
import { z } from "zod";
import { asTexts, objectAt, objectsAt, textAt } from "../../../platform/base/json.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { kubernetesKindSchema } from "../schemas/kubernetes_schemas.ts";
import { compileSchema, type Schema } from "../schemas/schema.ts";
import { KEYS, sameKey } from "../storage/resource_keys.ts";
import type { Store } from "../storage/sqlite_store.ts";
import type { ResourceKey } from "../storage/store.ts";
import { BUILT_IN } from "./built_in_kinds.ts";
import { type Column, column, type Resource, scalePaths } from "./api_resource.ts";

const versionSchema = z.looseObject({
  name: z.string(),
  served: z.boolean(),
  storage: z.boolean(),
  schema: z.looseObject({ openAPIV3Schema: z.unknown() }).optional(),
  subresources: z.looseObject({
    status: z.unknown().optional(),
    scale: scalePaths.optional(),
  }).optional(),
  selectableFields: z.array(z.looseObject({ jsonPath: z.string() })).optional(),
  additionalPrinterColumns: z.array(column).optional(),
});

const AGE: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

/** Returns the kinds that a definition serves, one for each served version. */
function resourcesOfDefinition(definition: ApiObject): Resource[] {
  const group = textAt(definition.spec, "group") ?? "";
  const names = objectAt(definition.spec, "names");
  const versions = objectsAt(definition.spec, "versions").map((v) => versionSchema.parse(v));
  const storageVersion = versions.find((version) => version.storage)?.name ?? "";
  const kind = textAt(names, "kind") ?? "";
  return versions.filter((version) => version.served).map((version) => ({
    group,
    version: version.name,
    kind,
    listKind: textAt(names, "listKind") ?? `${kind}List`,
    resource: textAt(names, "plural") ?? "",
    singular: textAt(names, "singular") ?? kind.toLowerCase(),
    shortNames: asTexts(names.shortNames),
    categories: asTexts(names.categories),
    namespaced: textAt(definition.spec, "scope") === "Namespaced",
    status: version.subresources?.status !== undefined,
    scale: version.subresources?.scale,
    subresources: [],
    generation: true,
    review: false,
    custom: true,
    storageVersion,
    columns: version.additionalPrinterColumns ?? [AGE],
    selectableFields: version.selectableFields?.map(({ jsonPath }) => jsonPath.replace(/^\./, "")),
    openApi: version.schema?.openAPIV3Schema,
  }));
}

/** Registry that follows the definitions in a store. */
export class Registry {
  #custom: Resource[] = [];
  #byPath = new Map<string, Resource>();
  readonly #schemas = new WeakMap<Resource, { schema: Schema | undefined }>();
  readonly #ofDefinition = new WeakMap<ApiObject, Resource[]>();

  constructor(readonly store: Store) {
    this.#refresh();
    store.subscribe((change) => {
      if (sameKey(change.key, KEYS.customResourceDefinitions)) this.#refresh();
    });
  }

  #refresh(): void {
    this.#custom = this.store.list(KEYS.customResourceDefinitions).flatMap((definition) => {
      const known = this.#ofDefinition.get(definition) ?? resourcesOfDefinition(definition);
      this.#ofDefinition.set(definition, known);
      return known;
    });
    this.#byPath = new Map(
      this.all().map((kind) => [`${kind.group}/${kind.version}/${kind.resource}`, kind]),
    );
  }

  /** Returns every kind in every served version. */
  all(): readonly Resource[] {
    return [...BUILT_IN, ...this.#custom];
  }

  /** Returns the kind of a path: group, version, plural. */
  byPath(group: string, version: string, resource: string): Resource | undefined {
    return this.#byPath.get(`${group}/${version}/${resource}`);
  }

  /** Returns a kind by `apiVersion` and `kind` as an object has them, for owner references. */
  byKind(apiVersion: string, kind: string): Resource | undefined {
    const slash = apiVersion.indexOf("/");
    const group = slash < 0 ? "" : apiVersion.slice(0, slash);
    const ofGroup = this.all().filter((one) => one.group === group && one.kind === kind);
    return ofGroup.find((one) => one.version === apiVersion.slice(slash + 1)) ?? ofGroup[0];
  }

  /** Returns a kind by its store key, in any version. */
  byKey(key: ResourceKey): Resource | undefined {
    return this.all().find((one) => sameKey(one, key));
  }

  /** Returns the schema of a kind, compiled on first use; undefined if it has none. */
  schemaOf(resource: Resource): Schema | undefined {
    const known = this.#schemas.get(resource);
    if (known) return known.schema;
    const schema = resource.custom
      ? resource.openApi === undefined ? undefined : compileSchema(resource.openApi)
      : kubernetesKindSchema(resource.group, resource.version, resource.kind);
    this.#schemas.set(resource, { schema });
    return schema;
  }
}
