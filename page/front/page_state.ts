/** State of the page: the view of the address, what its feed brought, the time, and the theme. */
import { computed, effect, signal, untracked } from "@preact/signals";
import { inTurn } from "./charts/frame_turns.ts";
import { type Call, CallError, send } from "./feed/server_calls.ts";
import { loseSession, sessionState, takeCode } from "./feed/session_key.ts";
import {
  axisFor,
  jobNameOf,
  type JobView,
  listParameters,
  type ListView,
  readView,
  type View,
  viewFragment,
} from "./url_state.ts";
import type { SearchView } from "./searches/search_view.ts";
import { createTabFeed } from "./feed/tab_feed.ts";
import { type ListNews, readCurves, readList } from "./feed/view_answers_read.ts";
import { keyOf } from "./feed/job_key.ts";
import { textOf } from "./feed/answer_fields.ts";
import { asObject } from "../../platform/base/json.ts";
import {
  type Connection,
  curvesAfter,
  type CurveState,
  joinedNews,
  listAfter,
  type ListState,
  newsOfFrame,
} from "./feed/view_state.ts";

/** The view of the address. */
export const view = signal<View>(readView(location.hash));
/** The time, each second. */
export const now = signal(Date.now());
/** The list; of a job's page only its row. */
export const list = signal<ListState | undefined>(undefined);
/** The curves of a job's page. */
export const curves = signal<CurveState | undefined>(undefined);
/** Why curves cannot be had now. */
export const outage = signal("");
/** The connection of the feed. */
export const connection = signal<Connection>({ phase: "connecting" });
/** True if what is shown may be old. */
export const isStale = computed(() => connection.value.phase === "down");

/** Shows another view; `replace` does without a step in the tab's history. */
export function show(next: View, replace = false): void {
  const fragment = viewFragment(next);
  if (fragment === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", fragment);
  view.value = readView(fragment);
}

/** Shows the list with changes; another choice of rows begins at its first. */
export function showList(before: ListView, change: Partial<ListView>, replace = false): void {
  show({ ...before, offset: 0, ...change }, replace);
}

/** Shows a search with changes. */
export function showSearch(change: Partial<SearchView>, replace = false): void {
  const before = view.value;
  if (before.page === "search") show({ ...before, ...change }, replace);
}

/** Shows a job with changes; a range of one axis is none of another. */
export function showJob(before: JobView, change: Partial<JobView>, replace = false): void {
  const after = { ...before, ...change };
  const isOther = change.range === undefined &&
    (after.axis !== before.axis || axisFor(after, false) !== axisFor(before, false));
  show(isOther ? { ...after, range: undefined } : after, replace);
}

const queryOf = (pairs: readonly (readonly [string, string])[]) =>
  new URLSearchParams(pairs.map(([name, value]) => [name, value])).toString();

/** Jobs whose curves a page shows. */
export const shownJobs = (it: JobView) => [keyOf(it), ...it.compared.filter(jobNameOf)];

/** The list of a view, as parameters. Parts of a view that change only its style do not change it. */
const listQuery = computed(() => {
  const it = view.value;
  if (it.page === "jobs") return queryOf(listParameters(it)) || `limit=${it.limit}`;
  // Searches are read by themselves; the stream says whether the server is there.
  if (it.page !== "job") {
    const places = it.page === "search" ? [it.namespace] : it.namespaces;
    return queryOf([...places.map((name) => ["namespace", name] as const), ["limit", "1"]]);
  }
  // The shortest of the names that begin so is the job's own, and the first from A to Z.
  return queryOf([
    ["kind", it.kind],
    ["namespace", it.namespace],
    ["text", `${it.namespace}/${it.name}`.slice(0, 128)],
    ["sort", "name"],
    ["order", "ascending"],
    ["limit", "25"],
  ]);
});

/** The keys of the jobs whose curves a view shows, between blanks: no name has one. */
const jobKeys = computed(() => view.value.page === "job" ? shownJobs(view.value).join(" ") : "");

/** The feed of what is shown. */
export const feed = createTabFeed();
/** Counts how often the connection has come back: what has a connection of its own may be dead, too. */
export const comebacks = signal(0);

/** The key of the open session; undefined if there is none. */
export const sessionKey = computed(() =>
  sessionState.value.phase === "open" ? sessionState.value.session.key : undefined
);

/** Sends a request of this session; a key that is not taken any more ends it. */
export async function call(
  path: string,
  options: Pick<Call, "body" | "signal" | "tag" | "streamed"> & { readonly method?: "POST" } = {},
): Promise<Response> {
  try {
    return await send({ ...options, path, key: sessionKey.value });
  } catch (error) {
    if (error instanceof CallError && error.status === 401) loseSession(ENDED);
    throw error;
  }
}
const ENDED = "The session has ended.";

/** Follows the view with a feed, and the address. */
export function startPage(): void {
  const read = () => {
    // A new address with a code, opened in the tab whose session has ended, loads nothing anew.
    takeCode();
    view.value = readView(location.hash);
  };
  globalThis.addEventListener("popstate", read);
  globalThis.addEventListener("hashchange", read);
  const tick = () => {
    if (document.visibilityState === "visible") now.value = Date.now();
  };
  setInterval(tick, 1000);
  document.addEventListener("visibilitychange", tick);
  let page = "";
  effect(() => {
    const [query, keys, state] = [listQuery.value, jobKeys.value, sessionState.value];
    if (state.phase !== "open") return feed.subscribe(undefined, undefined, NOBODY);
    const shown = untracked(() => view.value.page === "job" ? keyOf(view.value) : view.value.page);
    if (shown !== page) {
      // Rows of another page are not this one's; those of another filter stay until the new ones come.
      [list.value, curves.value] = [undefined, undefined];
    }
    page = shown;
    outage.value = "";
    connection.value = { phase: "connecting" };
    const subscription = {
      key: state.session.key,
      list: query,
      jobs: keys === "" ? [] : keys.split(" "),
    };
    feed.subscribe(subscription, state.session, { onConnection: follow, onEvent: take });
  });
}

const NOBODY = { onEvent: () => {}, onConnection: () => {} };
/** Whether the next rows are the first ones since the stream began. */
let isFirst = true;
/** News of rows for the next frames. */
let waiting: ListNews | undefined;

/** Follows the connection. */
function follow(next: Connection): void {
  if (next.phase === "refused" && next.status === 401) return loseSession(ENDED);
  if (next.phase === "live") {
    isFirst = true;
    if (untracked(() => connection.value.phase) === "down") comebacks.value++;
  }
  // What the viewer may not see any more is not shown on.
  if (next.phase === "refused") list.value = undefined;
  connection.value = next;
}

/** Takes news of rows: the first are shown at once, of changes a few in each frame. */
function takeRows(news: ListNews): void {
  if (isFirst) {
    list.value = listAfter(undefined, news);
    [isFirst, waiting] = [false, undefined];
    return;
  }
  if (waiting === undefined) inTurn(showWaiting);
  waiting = joinedNews(waiting, news);
}

function showWaiting(): void {
  const before = list.value;
  // The first rows, of another view perhaps, have come instead.
  if (waiting === undefined) return;
  const { now, later } = newsOfFrame(before, waiting);
  // What is not shown any more is not shown again.
  waiting = before && later;
  if (before === undefined) return;
  list.value = listAfter(before, now);
  if (later !== undefined) inTurn(showWaiting);
}

/** Takes news. */
function take(event: string, data: unknown): void {
  if (event === "jobs") return takeRows(readList(data));
  // A curve ends now; the age of a row has time until the next second.
  now.value = Date.now();
  if (event === "curves") {
    curves.value = curvesAfter(untracked(() => curves.value), readCurves(data));
    outage.value = "";
  } else if (event === "outage") {
    outage.value = textOf(asObject(data).reason);
  }
}

const THEMES = ["auto", "light", "dark"] as const;
const THEME = "milepost.theme";
const themeOf = (name: string | null) => THEMES.find((it) => it === name) ?? "auto";

/** The theme: light or dark; "auto" follows the system. */
export const theme = signal(themeOf(localStorage.getItem(THEME)));
const system = matchMedia("(prefers-color-scheme: dark)");
/** Counts the changes of colours, for what is drawn. */
export const colours = signal(0);

/** Sets the theme, now and for later. */
export function setTheme(name: string): void {
  theme.value = themeOf(name);
  localStorage.setItem(THEME, theme.value);
}

/** Keeps the document in the theme. */
export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    colours.value = untracked(() => colours.value) + 1;
  });
  system.addEventListener("change", () => colours.value++);
}
