/** Columns of role bindings in tables. */
import { objectsAt, textAt } from "../../../platform/base/json.ts";
import type { ApiObject } from "../objects/api_object.ts";

/** Returns a column of the bound subjects of one kind; service accounts have their namespaces. */
export function boundSubjects(kind: string): (binding: ApiObject) => string {
  return (binding) =>
    objectsAt(binding, "subjects").filter((one) => one.kind === kind).map((one) => {
      const name = textAt(one, "name") ?? "";
      return kind === "ServiceAccount" ? `${textAt(one, "namespace") ?? ""}/${name}` : name;
    }).join(", ");
}
