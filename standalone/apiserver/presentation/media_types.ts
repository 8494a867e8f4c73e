/** Media types that a client accepts, and the form of the response that they ask for. */
import type { Resource } from "../kinds/api_resource.ts";
import { notAcceptable } from "../objects/status_error.ts";

/** Form of a response. */
export type Form = "json" | "table" | "metadata";

/** View of the objects of a kind that a client asks for. */
export interface View {
  readonly resource: Resource;
  readonly form: Form;
  /** Part of its object that a row of a table has: `None`, `Metadata` or `Object`. */
  readonly includeObject: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Parses an Accept header; keeps its order. */
export function mediaTypes(header: string) {
  return header.split(",").map((entry) => {
    const [type = "", ...parameters] = entry.split(";").map((part) => part.trim());
    return {
      type: type.toLowerCase(),
      parameters: Object.fromEntries(parameters.map((one) => one.split("=", 2))),
    };
  }).filter(({ type }) => type !== "");
}

const JSON_TYPES = new Set(["application/json", "application/*", "*/*"]);

/** Returns the first form that the client accepts and this server supports. Throws 406. */
export function acceptedForm(header: string | null): Form {
  if (!header) return "json";
  for (const { type, parameters } of mediaTypes(header)) {
    if (!JSON_TYPES.has(type)) continue;
    const { as, v } = parameters;
    if (as === undefined) return "json";
    if (as === "Table" && (v === "v1" || v === "v1beta1")) return "table";
    if (as.startsWith("PartialObjectMetadata")) return "metadata";
  }
  throw notAcceptable("application/json");
}
