/** API of the page: the list of jobs, curves, and one stream of both, authorized as reads of observations are. */
import { getLogger } from "@logtape/logtape";
import { type Api, type Arrival, createApi } from "../../platform/http/api_shell.ts";
import {
  apiOfReaders,
  type Identified,
  identify,
} from "../../platform/http/callers/reader_checks.ts";
import { FRESH_JSON, jsonResponse, okResponse } from "../../platform/http/json_responses.ts";
import type { HttpRequest } from "../../platform/http/message.ts";
import { invalid, notNow, type Refusal, type RequestResult } from "../../platform/http/refusals.ts";
import { queryOf, type Route } from "../../platform/http/routes.ts";
import { jobMessage } from "../../crds/wire/job_message.ts";
import { listQuery } from "../../crds/wire/list_query.ts";
import { CURVE_PARAMETERS, curveQuery, jobOf } from "./curve_query.ts";
import { grantView, type View } from "./granted_view.ts";
import { readLists } from "./streamed_lists.ts";
import { firstCurvesJson, listAnswer } from "./view_answers.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";
import { scopeOf, type ViewParts } from "./view_parts.ts";
import { streamResponse } from "./view_stream.ts";

/** `reads_total{kind}`. */
export type ViewReadKind = "jobs" | "curves" | "view";

interface ViewRoute extends Route {
  readonly reads: ViewReadKind;
}

/** The table of routes. */
export const VIEW_ROUTES: readonly ViewRoute[] = [
  { method: "GET", path: "/view/v1/jobs", reads: "jobs" },
  { method: "GET", path: "/view/v1/curves", reads: "curves" },
  { method: "GET", path: "/view/v1/events", reads: "view" },
];

/** Options of {@link createViewApi}. */
export interface ViewApiOptions extends ViewParts {
  /** A read, or the beginning of a stream, was answered. */
  readonly onRead?: (kind: ViewReadKind, result: RequestResult) => void;
}

const signalOf = (request: HttpRequest) => request.signal?.() ?? new AbortController().signal;

/** The parameters of a request; those of curves stand apart from the others. */
function parametersOf(url: string) {
  const all = new URLSearchParams(queryOf(url));
  const [curves, others] = [new URLSearchParams(), new URLSearchParams()];
  for (const [name, value] of all) {
    (CURVE_PARAMETERS.includes(name) ? curves : others).append(name, value);
  }
  return { all, curves, others };
}

/** Reads what a stream of several lists shows. A problem of one list or job does not affect the others. */
function viewOfLists(
  { kinds }: Pick<ViewParts, "kinds">,
  { curves, others }: Pick<ReturnType<typeof parametersOf>, "curves" | "others">,
): View | Refusal {
  const stray = [...others.keys()].filter((field) => field !== "list");
  const read = readLists(others.getAll("list"));
  const jobs = curves.getAll("job");
  const known = new URLSearchParams([...curves].filter(([name]) => name !== "job"));
  for (const job of jobs) if (jobOf(job, kinds) !== undefined) known.append("job", job);
  const asked = curveQuery(known, kinds);
  const causes = [
    ...("causes" in read ? read.causes : []),
    ...("causes" in asked ? asked.causes : []),
    ...stray.map((field) => ({ field: field.slice(0, 64), message: "is not given beside list" })),
  ];
  if (causes.length > 0 || !("lists" in read) || !("query" in asked)) {
    return invalid("query", causes);
  }
  const ofUnknownKind = jobs.filter((job) => jobOf(job, kinds) === undefined)
    .slice(0, CURVE_LIMITS.jobs).map((job) => {
      const [kind = "", namespace = "", name = ""] = job.split("/");
      return { kind, namespace, name };
    });
  return { lists: read.lists, curves: asked.query, ofUnknownKind };
}

/** Reads what a request asks for: the list unless `reads` is curves, and curves if it names jobs. */
function viewOf(
  { kinds }: Pick<ViewParts, "kinds">,
  url: string,
  reads: ViewReadKind,
): View | Refusal {
  const { all, curves, others } = parametersOf(url);
  if (reads === "view" && others.has("list")) return viewOfLists({ kinds }, { curves, others });
  const list = reads === "curves" ? undefined : listQuery(others);
  const asked = reads === "jobs" ? undefined : curveQuery(reads === "curves" ? all : curves, kinds);
  const stray = reads === "jobs" ? [...curves.keys()] : [];
  const causes = [
    ...(list !== undefined && "causes" in list ? list.causes : []),
    ...(asked !== undefined && "causes" in asked ? asked.causes : []),
    ...stray.map((field) => ({ field, message: "is for curves" })),
  ];
  if (causes.length > 0) return invalid("query", causes);
  return {
    ...(list !== undefined && "query" in list && { list: list.query }),
    ...(asked !== undefined && "query" in asked && { curves: asked.query }),
  };
}

/** Creates the API. */
export function createViewApi(options: ViewApiOptions): Api {
  const { peers, clock, onRead } = options;
  const log = getLogger(["milepost", "page"]);

  async function answerList({ reader }: Identified, { list }: View, request: HttpRequest) {
    if (list === undefined) return okResponse({}, FRESH_JSON);
    const scope = await scopeOf(options, reader, list);
    if ("why" in scope) return scope;
    const read = () => okResponse(listAnswer(options.list.window(list, scope), scope), FRESH_JSON);
    return await options.listInTurn(reader.username, read, signalOf(request));
  }

  async function answerCurves(caller: Identified, view: View, request: HttpRequest) {
    const granted = await grantView(options, caller, view);
    if ("why" in granted) return granted;
    const { jobs: { seen }, curves } = granted;
    if (curves === undefined) return okResponse({}, FRESH_JSON);
    const { jobs: _, metrics, ...choice } = curves;
    const ask = {
      ...choice,
      ...(metrics && { metrics: [...metrics] }),
      jobs: seen.map(({ uid }) => uid),
      // Their logs may have to be read.
      refs: seen.map(jobMessage),
    };
    const found = seen.length === 0
      ? { curves: [], left: [] }
      : await options.ask(ask, signalOf(request), seen, caller.reader.username);
    if ("retryAfterMs" in found) return notNow(found);
    return jsonResponse(firstCurvesJson(found, granted.jobs), FRESH_JSON);
  }

  async function answerStream(caller: Identified, view: View) {
    const granted = await grantView(options, caller, view);
    return "why" in granted ? granted : streamResponse(options, caller, granted);
  }

  return createApi<Arrival, ViewRoute>({
    ...apiOfReaders(options),
    log,
    routes: VIEW_ROUTES,
    async answer({ request }, { reads }) {
      const view = viewOf(options, request.url, reads);
      if ("why" in view) return view;
      const caller = await identify(options, request);
      if ("why" in caller) return caller;
      peers.proved(request.peer, clock.monotonic());
      if (reads === "jobs") return await answerList(caller, view, request);
      return reads === "curves"
        ? await answerCurves(caller, view, request)
        : await answerStream(caller, view);
    },
    unreachable(problem) {
      const reason = "the API server cannot be asked now: try again soon";
      log.debug(reason, { problem });
      return notNow({ reason, retryAfterMs: 1000 });
    },
    onAnswer(_, result, route) {
      if (route !== undefined) onRead?.(route.reads, result);
    },
  });
}
