/** Query of a GET of the status path. Pure. */
import type { FailureCause } from "../../platform/http/refusals.ts";

/** Meaning of a query, or its problems. */
export type ReadQuery =
  | { readonly route: "read" | "watch" }
  | { readonly causes: readonly FailureCause[] };

const WATCH = "watch";
const VALUES: ReadonlyMap<string, "read" | "watch"> = new Map([
  ["true", "watch"],
  ["1", "watch"],
  ["false", "read"],
  ["0", "read"],
]);
/** Most problems that one response names. */
const MAX_CAUSES = 20;
/** Characters of an unknown name that a problem repeats. */
const MAX_NAME = 64;

/**
 * Reads a query without its question mark. `watch` is the only parameter, once, true or false; others
 * are refused rather than ignored, so that a client that misspells `watch` does not wait for events in vain.
 */
export function readQuery(query: string): ReadQuery {
  const parameters = new URLSearchParams(query);
  const causes = [...new Set(parameters.keys())].filter((name) => name !== WATCH)
    .map((name): FailureCause => ({
      field: name.slice(0, MAX_NAME),
      message: `is an unknown parameter; known: ${WATCH}`,
    }));
  const values = parameters.getAll(WATCH);
  const route = values.length === 0 ? "read" : VALUES.get(values[0] ?? "");
  if (values.length > 1 || route === undefined) {
    causes.unshift({ field: WATCH, message: "must be given once, as true or false" });
  } else if (causes.length === 0) {
    return { route };
  }
  return { causes: causes.slice(0, MAX_CAUSES) };
}
