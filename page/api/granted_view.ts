/** View of a viewer: what it asks to see, and what it may see of that now. */
import type { Identified } from "../../platform/http/callers/reader_checks.ts";
import type { Refusal } from "../../platform/http/refusals.ts";
import type { ListQuery } from "../../crds/wire/list_query.ts";
import type { CurveQuery } from "./curve_query.ts";
import { type GrantedList, grantLists, type NamedList } from "./streamed_lists.ts";
import type { JobName } from "../../crds/wire/row.ts";
import { scopeOf, type SeenJobs, seenJobs, type ViewParts } from "./view_parts.ts";

/** What a viewer asks to see. */
export interface View {
  readonly list?: ListQuery;
  /** Instead of it: several, each of which is granted or refused by itself. */
  readonly lists?: readonly NamedList[];
  readonly curves?: CurveQuery;
  /** Jobs that were asked for and that cannot be there: of no kind that is known. */
  readonly ofUnknownKind?: readonly JobName[];
}

/** What a viewer may see of it now. */
export interface GrantedView extends View {
  readonly granted: readonly GrantedList[];
  readonly jobs: SeenJobs;
}

/** Returns what the reader may see of a view. */
export async function grantView(
  parts: ViewParts,
  caller: Pick<Identified, "reader">,
  view: View,
): Promise<GrantedView | Refusal> {
  const { list, lists = [], curves } = view;
  const scope = list && await scopeOf(parts, caller.reader, list);
  if (scope !== undefined && "why" in scope) return scope;
  const granted = await grantLists(parts, caller, lists);
  if ("why" in granted) return granted;
  const jobs = await seenJobs(parts, caller, curves?.jobs ?? []);
  if ("why" in jobs) return jobs;
  return { ...view, granted: list && scope ? [{ query: list, scope }] : granted, jobs };
}

/** Returns why lists of a view are not shown. */
export const refusalsOf = ({ granted }: GrantedView) =>
  granted.flatMap((it) => "refusal" in it ? [it.refusal.message] : []);

/** Returns whether there is anything of the view that the viewer may see. */
export const showsSomething = ({ granted, jobs }: GrantedView) =>
  jobs.seen.length > 0 || granted.some((it) => "scope" in it);
