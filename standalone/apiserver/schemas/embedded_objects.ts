/** Embedded objects: objects inside objects that have a kind themselves. */
import { isObject, textAt } from "../../../platform/base/json.ts";
import { required, type StatusCause, under } from "../../../crds/status_cause.ts";
import { flatMapKnown, type Structure } from "./structure.ts";

/** Returns the embedded objects at any depth that do not say their kind. */
export function checkEmbedded(value: unknown, structure: Structure, path = ""): StatusCause[] {
  const missing = structure.embedded && isObject(value)
    ? ["apiVersion", "kind"].filter((key) => (textAt(value, key) ?? "") === "")
    : [];
  return [
    ...missing.map((key) => required(under(path, key), "must not be empty")),
    ...flatMapKnown(value, structure, path, checkEmbedded),
  ];
}
