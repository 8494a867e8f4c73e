/** Query of a GET of the status path. Pure. */
import { z } from "zod";
import type { FailureCause } from "../../platform/http/refusals.ts";
import { booleanParameter, strictQuery } from "../../platform/http/strict_query.ts";

/** The only parameter. Others are refused: a client that misspells it would wait for events in vain. */
const querySchema = z.strictObject({ watch: booleanParameter.default(false) });

/** Reads a query without its question mark. Returns its meaning, or its problems. */
export function readQuery(
  query: string,
): { readonly route: "read" | "watch" } | { readonly causes: readonly FailureCause[] } {
  const read = strictQuery(new URLSearchParams(query), querySchema);
  return "causes" in read ? read : { route: read.query.watch ? "watch" : "read" };
}
