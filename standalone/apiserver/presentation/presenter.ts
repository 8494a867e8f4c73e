/** How objects and lists are shown: whole, as metadata only, as a table. */
import type { Context } from "../operations/context.ts";
import type { Form } from "../requests/negotiation.ts";
import type { ApiObject, Json } from "../objects/api_object.ts";
import type { Page } from "../operations/lists.ts";
import type { Operation } from "../requests/resource_handler.ts";
import { apiVersionOf, type Resource } from "../kinds/resource.ts";
import { tableOf } from "./table.ts";
import type { Presents } from "../operations/watches.ts";

const META = "meta.k8s.io/v1";

function metadataOnly({ metadata }: ApiObject): Json {
  return { kind: "PartialObjectMetadata", apiVersion: META, metadata };
}

/** Shows one object as the client wants it. */
export function presentObject(operation: Operation, object: ApiObject): unknown {
  const { context, incoming, call, form } = operation;
  return presenter(context, call.resource, form, incoming.url.searchParams)(object, "ADDED");
}

/**
 * Shows objects of a watch, or a single one. Of a watch of tables only the first has column
 * definitions.
 */
export function presenter(
  { now }: Context,
  resource: Resource,
  form: Form,
  query: URLSearchParams,
): Presents {
  if (form === "json") return (object) => object;
  if (form === "metadata") return metadataOnly;
  let first = true;
  return (object) => {
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    const table = tableOf(resource, [object], {
      now: now(),
      include: query.get("includeObject") ?? "Metadata",
      metadata,
      withColumns: first,
    });
    first = false;
    return table;
  };
}

/** Shows a page of a list. */
export function presentList(operation: Operation, { items, metadata }: Page): unknown {
  const { context, incoming, call, form } = operation;
  const { resource } = call;
  if (form === "table") {
    const include = incoming.url.searchParams.get("includeObject") ?? "Metadata";
    return tableOf(resource, items, {
      now: context.now(),
      include,
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
function withoutKind({ apiVersion: _apiVersion, kind: _kind, ...rest }: ApiObject): Json {
  return rest;
}
