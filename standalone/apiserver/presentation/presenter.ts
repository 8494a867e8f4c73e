/** Presentation of objects and lists: whole, as metadata only, or as a table. */
import type { JsonObject } from "../../../platform/base/json.ts";
import { apiVersionOf } from "../kinds/api_resource.ts";
import type { ApiObject } from "../objects/api_object.ts";
import type { Page } from "../operations/lists.ts";
import type { Present } from "../operations/watches.ts";
import type { View } from "./media_types.ts";
import { metadataOnly, tableOf } from "./printed_table.ts";

/** Presents one object. */
export function presentObject(view: View, object: ApiObject): unknown {
  return presenter(view)(object, "ADDED");
}

/**
 * Returns a function that presents the objects of a watch. Of a watch of tables only the first has column
 * definitions.
 */
export function presenter(view: View): Present {
  if (view.form === "json") return (object) => object;
  if (view.form === "metadata") return metadataOnly;
  let first = true;
  return (object) => {
    const { resourceVersion } = object.metadata;
    const table = tableOf(view, [object], { resourceVersion }, first);
    first = false;
    return table;
  };
}

/** Presents a page of a list. */
export function presentList(view: View, { items, metadata }: Page): unknown {
  const { resource, form } = view;
  if (form === "table") return tableOf(view, items, { ...metadata }, true);
  if (form === "metadata") {
    return {
      kind: "PartialObjectMetadataList",
      apiVersion: "meta.k8s.io/v1",
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

/** Items of built-in lists have no `apiVersion` and `kind`, as in the real server. */
function withoutKind({ apiVersion: _apiVersion, kind: _kind, ...rest }: ApiObject): JsonObject {
  return rest;
}
