/** Query of a GET of an observation. Pure. */
import { sortableTime } from "../../trials/recording/row_time.ts";
import type { FailureCause } from "../../platform/http/refusals.ts";
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

/** Most problems that one response names. */
const MAX_CAUSES = 20;
/** Characters of an unknown name that a problem repeats. */
const MAX_NAME = 64;

/** Only what is written as a whole number is one: neither "", "1e3" nor "0x10" are. */
function valueOf(name: string, value: string): unknown {
  return name === "limit" && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
}

function fromOf(
  { since, continue: token }: { since?: string | undefined; continue?: string | undefined },
): Position | undefined {
  const start = since === undefined ? undefined : sortableTime(since);
  const position = token === undefined ? undefined : positionOf(token);
  return start === undefined ? position : laterOf({ time: start, seen: 0 }, position);
}

const KNOWN: ReadonlySet<string> = new Set(Object.keys(querySchema.shape));
const UNKNOWN = `is an unknown parameter; known: ${[...KNOWN].join(", ")}`;

/** Returns the problems of names, whatever their values are. */
function nameCauses(names: readonly string[]): FailureCause[] {
  return [...new Set(names)].flatMap((name) => {
    const field = name.slice(0, MAX_NAME);
    if (!KNOWN.has(name)) return [{ field, message: UNKNOWN }];
    const isTwice = names.indexOf(name) !== names.lastIndexOf(name);
    return isTwice ? [{ field, message: "must be given once" }] : [];
  });
}

/** Reads a query without its question mark. */
export function observationQuery(
  query: string,
): ObservationQuery | { readonly causes: readonly FailureCause[] } {
  const given = [...new URLSearchParams(query)];
  const known = given.filter(([name]) => KNOWN.has(name))
    .map(([name, value]) => [name, valueOf(name, value)]);
  const parsed = querySchema.safeParse(Object.fromEntries(known));
  const issues = parsed.error?.issues ?? [];
  const causes = [
    ...nameCauses(given.map(([name]) => name)),
    ...issues.map(({ path, message }) => ({ field: String(path[0] ?? ""), message })),
  ];
  if (causes.length > 0 || !parsed.success) return { causes: causes.slice(0, MAX_CAUSES) };
  const { limit = OBSERVATION_LIMITS.page, watch } = parsed.data;
  return { from: fromOf(parsed.data), limit, watch: watch === "true" || watch === "1" };
}
