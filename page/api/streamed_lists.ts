/** Lists of a stream: the windows that a viewer is shown, which of their rows it has, and what is new. */
import type { Identified } from "../../platform/http/callers/reader_checks.ts";
import type { FailureCause, FailureShape, Refusal } from "../../platform/http/refusals.ts";
import type { JobRow, ListNews, ListRefusal } from "../../crds/wire/row.ts";
import { type ListQuery, listQuery } from "../../crds/wire/list_query.ts";
import type { ReaderScope } from "./scope.ts";
import { listAnswer } from "./view_answers.ts";
import { VIEW_LIMITS } from "../../crds/wire/view_limits.ts";
import { scopeOf, type ViewParts } from "./view_parts.ts";

/** One of several lists: its query, or what is wrong with it, so that the others are shown all the same. */
export type NamedList = ListQuery | { readonly causes: readonly FailureCause[] };

/** A list as the viewer may see it now. */
export type GrantedList =
  | { readonly query: ListQuery; readonly scope: ReaderScope }
  | { readonly refusal: Pick<FailureShape, "code" | "message"> };

/** Reads lists, each of which is the query of a list as a text; causes if there are too many. */
export function readLists(
  texts: readonly string[],
): { readonly lists: readonly NamedList[] } | { readonly causes: readonly FailureCause[] } {
  if (texts.length > VIEW_LIMITS.lists) {
    const message = `must be given at most ${VIEW_LIMITS.lists} times`;
    return { causes: [{ field: "list", message }] };
  }
  const lists = texts.map((text): NamedList => {
    const read = listQuery(new URLSearchParams(text));
    return "query" in read ? read.query : read;
  });
  return { lists };
}

const causesText = (causes: readonly FailureCause[]) =>
  causes.map(({ field, message }) => `${field}: ${message}`).join("; ");

/** Returns what the reader may see of each list. One that it may not see says so; what is not known is a refusal of all. */
export async function grantLists(
  parts: ViewParts,
  { reader }: Pick<Identified, "reader">,
  lists: readonly NamedList[],
): Promise<readonly GrantedList[] | Refusal> {
  const granted: GrantedList[] = [];
  for (const list of lists) {
    if ("causes" in list) {
      granted.push({ refusal: { code: 422, message: causesText(list.causes) } });
      continue;
    }
    const scope = await scopeOf(parts, reader, list);
    if (!("why" in scope)) granted.push({ query: list, scope });
    else if (scope.why !== "forbidden") return scope;
    else granted.push({ refusal: scope });
  }
  return granted;
}

/** An event of a stream. */
export type ListEvent =
  | { readonly event: "jobs"; readonly data: ListNews }
  | { readonly event: "refused"; readonly data: ListRefusal };

/** What a viewer has of one list. */
export class StreamedList {
  readonly #rows = new Map<string, JobRow>();
  #last = "";

  /** `place`: among several lists. */
  constructor(
    private readonly list: ViewParts["list"],
    private readonly place?: number,
  ) {}

  /** Returns what is new: of the rows those of which the viewer has an older version, and the order of all. */
  news(granted: GrantedList): ListEvent | undefined {
    const place = this.place === undefined ? {} : { list: this.place };
    if ("refusal" in granted) {
      const { code, message } = granted.refusal;
      this.#rows.clear();
      if (this.#last === message) return undefined;
      this.#last = message;
      return { event: "refused", data: { ...place, code, message } };
    }
    const { rows, total, states, kinds } = this.list.window(granted.query, granted.scope);
    const changed = rows.filter((row) => this.#rows.get(row.uid) !== row);
    this.#rows.clear();
    for (const row of rows) this.#rows.set(row.uid, row);
    const order = rows.map(({ uid }) => uid);
    const answer = listAnswer({ rows: changed, total, states, kinds }, granted.scope);
    const shape = JSON.stringify([order, total, states, kinds, answer.denied]);
    if (changed.length === 0 && shape === this.#last) return undefined;
    this.#last = shape;
    return { event: "jobs", data: { ...place, ...answer, order } };
  }
}
