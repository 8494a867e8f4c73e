/** Strict reading of a query: every parameter is known, and is given once unless it is a list. Pure. */
import { z } from "zod";
import type { FailureCause } from "./refusals.ts";

/** Most problems that one response names. */
const MAX_CAUSES = 20;
/** Characters of an unknown name that a problem repeats. */
const MAX_NAME = 64;

/** A parameter that is true or false. */
export const booleanParameter = z.enum(["true", "false", "1", "0"], "must be true or false")
  .transform((text) => text === "true" || text === "1");

/**
 * Reads a query by a schema of its parameters; one that takes an empty array is a list. `valueOf` makes a
 * value of the text of another. Problems of names come before those of values.
 */
export function strictQuery<Schema extends z.ZodObject>(
  query: URLSearchParams,
  schema: Schema,
  valueOf: (name: string, text: string) => unknown = (_, text) => text,
): { readonly query: z.infer<Schema> } | { readonly causes: readonly FailureCause[] } {
  const { shape } = schema;
  const known = Object.keys(shape);
  const causes: FailureCause[] = [];
  const values: Record<string, unknown> = {};
  for (const name of new Set(query.keys())) {
    const field = name.slice(0, MAX_NAME);
    const given = query.getAll(name);
    const parameter = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (parameter === undefined) {
      causes.push({ field, message: `is an unknown parameter; known: ${known.join(", ")}` });
      continue;
    }
    const isList = z.safeParse(parameter, []).success;
    values[name] = isList ? given : valueOf(name, given[0] ?? "");
    if (!isList && given.length > 1) causes.push({ field, message: "must be given once" });
  }
  const parsed = schema.safeParse(values);
  for (const { path, message } of parsed.error?.issues ?? []) {
    causes.push({ field: String(path[0] ?? ""), message });
  }
  if (causes.length > 0 || !parsed.success) return { causes: causes.slice(0, MAX_CAUSES) };
  return { query: parsed.data };
}
