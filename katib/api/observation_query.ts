/** Query of a GET of an observation. Pure. */
import { sortableTime } from "../../trials/recording/row_time.ts";
import type { FailureCause } from "../../platform/http/refusals.ts";
import { strictQuery } from "../../platform/http/strict_query.ts";
import { OBSERVATION_LIMITS, type Position } from "../../crds/wire/observation.ts";
import { querySchema } from "./messages.ts";
import { laterOf, positionOf } from "./position.ts";

/** Meaning of a query. */
export interface ObservationQuery {
  /** Absent: from the beginning of the log. */
  readonly from?: Position | undefined;
  readonly limit: number;
  readonly watch: boolean;
}

function fromOf(
  { since, continue: token }: { since?: string | undefined; continue?: string | undefined },
): Position | undefined {
  const start = since === undefined ? undefined : sortableTime(since);
  const position = token === undefined ? undefined : positionOf(token);
  return start === undefined ? position : laterOf({ time: start, seen: 0 }, position);
}

/** Reads a query without its question mark. */
export function observationQuery(
  query: string,
): ObservationQuery | { readonly causes: readonly FailureCause[] } {
  const read = strictQuery(
    new URLSearchParams(query),
    querySchema,
    // Only what is written as a whole number is one: neither "", "1e3" nor "0x10" are.
    (name, text) => name === "limit" && /^-?\d{1,15}$/.test(text) ? Number(text) : text,
  );
  if ("causes" in read) return read;
  const { limit = OBSERVATION_LIMITS.page, watch = false } = read.query;
  return { from: fromOf(read.query), limit, watch };
}
