/** Columns of role bindings in tables. */
import { type ApiObject, children, text } from "../objects/api_object.ts";

/** Who is bound, of one kind; service accounts with their namespaces. */
export function boundSubjects(kind: string): (binding: ApiObject) => string {
  return (binding) =>
    children(binding, "subjects").filter((one) => one.kind === kind).map((one) => {
      const name = text(one, "name") ?? "";
      return kind === "ServiceAccount" ? `${text(one, "namespace") ?? ""}/${name}` : name;
    }).join(", ");
}
