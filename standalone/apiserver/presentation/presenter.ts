/** Presentation of objects and lists: whole, as metadata only, or as a table. */
import type { JsonObject } from "../../../platform/base/json.ts";
import { apiVersionOf, type Resource } from "../kinds/api_resource.ts";
import type { ApiObject } from "../objects/api_object.ts";
import type { Page } from "../operations/lists.ts";
import type { Present } from "../operations/watches.ts";
import type { Form } from "./media_types.ts";
import { tableOf } from "./printed_table.ts";

const META = "meta.k8s.io/v1";

function metadataOnly({ metadata }: ApiObject): JsonObject {
  return { kind: "PartialObjectMetadata", apiVersion: META, metadata };
}

/** View of the objects of a kind that a client asks for. */
export interface View {
  readonly resource: Resource;
  readonly form: Form;
  /** Part of its object that a row of a table has: `None`, `Metadata` or `Object`. */
  readonly includeObject: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Presents one object. */
export function presentObject(view: View, object: ApiObject): unknown {
  return presenter(view)(object, "ADDED");
}

/**
 * Returns a function that presents the objects of a watch. Of a watch of tables only the first has column
 * definitions.
 */
export function presenter({ resource, form, includeObject, now }: View): Present {
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

/** Presents a page of a list. */
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

/** Items of built-in lists have no `apiVersion` and `kind`, as in the real server. */
function withoutKind({ apiVersion: _apiVersion, kind: _kind, ...rest }: ApiObject): JsonObject {
  return rest;
}
