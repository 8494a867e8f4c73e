/** Tables for `kubectl get` (`meta.k8s.io/v1` Table). */
import type { JsonObject } from "../../../platform/base/json.ts";
import type { Column, Resource } from "../kinds/api_resource.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { jsonPath } from "../objects/json_path.ts";
import { age } from "../../../platform/base/human_duration.ts";
import type { View } from "./media_types.ts";
import { NAME_COLUMN, type PrinterColumn, printersOf } from "./printer_columns.ts";

/** Returns the cell of a custom kind's column: what its path finds, in the column's type. */
function customCell(column: Column): PrinterColumn["cell"] {
  const find = jsonPath(column.jsonPath);
  return (object, now) => {
    const found = find(object);
    const [value] = found;
    if (value === undefined || value === null) return null;
    if (column.type === "date") return age(value, now);
    if (column.type === "string") {
      return found.map((one) => typeof one === "object" ? JSON.stringify(one) : `${one}`).join(" ");
    }
    return value;
  };
}

const custom = new WeakMap<Resource, readonly PrinterColumn[]>();

function columnsOf(resource: Resource): readonly PrinterColumn[] {
  if (!resource.columns) return printersOf(resource);
  const known = custom.get(resource);
  if (known) return known;
  const made = [
    NAME_COLUMN,
    ...resource.columns.map((column) => ({ ...column, cell: customCell(column) })),
  ];
  custom.set(resource, made);
  return made;
}

function definition({ name, type, format, description, priority }: PrinterColumn): JsonObject {
  return {
    name,
    type,
    format: format ?? "",
    description: description ?? "",
    priority: priority ?? 0,
  };
}

function included(object: ApiObject, include: string): unknown {
  if (include === "None") return undefined;
  if (include === "Object") return object;
  return metadataOnly(object);
}

/** Presents no more of an object than its metadata. */
export function metadataOnly({ metadata }: ApiObject): JsonObject {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
}

/** Returns a table of objects of one kind. */
export function tableOf(
  { resource, includeObject, now }: View,
  objects: ApiObject[],
  metadata: JsonObject,
  withColumns: boolean,
): JsonObject {
  const [columns, time] = [columnsOf(resource), now()];
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata,
    columnDefinitions: withColumns ? columns.map(definition) : [],
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(object, time)),
      object: included(object, includeObject),
    })),
  };
}
