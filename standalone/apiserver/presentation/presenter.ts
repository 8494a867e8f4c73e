/** How objects and lists are shown: whole, as metadata only, as a table. */
import type { JsonObject } from "../../../crds/json.ts";
import { apiVersionOf, type Resource } from "../kinds/resource.ts";
import type { ApiObject } from "../objects/api_object.ts";
import type { Page } from "../operations/lists.ts";
import type { Presents } from "../operations/watches.ts";
import type { Form } from "./media_types.ts";
import { tableOf } from "./table.ts";

const META = "meta.k8s.io/v1";

function metadataOnly({ metadata }: ApiObject): JsonObject {
  return { kind: "PartialObjectMetadata", apiVersion: META, metadata };
}

/** What a client wants to see of the objects of a kind. */
export interface View {
  readonly resource: Resource;
  readonly form: Form;
  /** What a row of a table has of its object: `None`, `Metadata` or `Object`. */
  readonly includeObject: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Shows one object as the client wants it. */
export function presentObject(view: View, object: ApiObject): unknown {
  return presenter(view)(object, "ADDED");
}

/**
 * Shows objects of a watch, or a single one. Of a watch of tables only the first has column
 * definitions.
 */
export function presenter({ resource, form, includeObject, now }: View): Presents {
  if (form === "json") return (object) => object;
  if (form === "metadata") return metadataOnly;
  let first = true;
  return (object) => {
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    const table = tableOf(resource, [object], {
      now: now(),
      include: includeObject,
      metadata,
      withColumns: first,
    });
    first = false;
    return table;
  };
}

/** Shows a page of a list. */
export function presentList(view: View, { items, metadata }: Page): unknown {
  const { resource, form, includeObject, now } = view;
  if (form === "table") {
    return tableOf(resource, items, {
      now: now(),
      include: includeObject,
      metadata: { ...metadata },
      withColumns: true,
    });
  }
  if (form === "metadata") {
    return {
      kind: "PartialObjectMetadataList",
      apiVersion: META,
      metadata,
      items: items.map(metadataOnly),
    };
  }
  return {
    kind: resource.listKind,
    apiVersion: apiVersionOf(resource),
    metadata,
    items: items.map((object) => resource.custom ? object : withoutKind(object)),
  };
}

/** Items of built-in lists have no `apiVersion` and `kind`, as the real server has it. */
function withoutKind({ apiVersion: _apiVersion, kind: _kind, ...rest }: ApiObject): JsonObject {
  return rest;
}
