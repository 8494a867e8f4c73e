/** API of the page: the list of jobs, curves, and one stream of both, authorized as reads of observations are. */
import { getLogger } from "@logtape/logtape";
import { KubeError, messageOf, TransportError } from "../../platform/kube/errors.ts";
import {
  type Identified,
  identify,
  refusalOfPeer,
} from "../../platform/http/callers/reader_checks.ts";
import { refuseReader } from "../../platform/http/callers/reader_refusals.ts";
import { FRESH_JSON, jsonResponse, okResponse } from "../../platform/http/json_responses.ts";
import {
  ClientGoneError,
  type HttpRequest,
  type HttpResponse,
  OverloadedError,
} from "../../platform/http/message.ts";
import {
  invalid,
  notNow,
  OVERLOADED_MS,
  type Refusal,
  refusalResponse,
  type RequestResult,
  resultOf,
} from "../../platform/http/refusals.ts";
import { createRoutes, pathOf, type Route } from "../../platform/http/routes.ts";
import { listQuery } from "../../crds/wire/list_query.ts";
import { CURVE_PARAMETERS, curveQuery, jobOf } from "./curve_query.ts";
import { grantView, type View } from "./granted_view.ts";
import { readLists } from "./streamed_lists.ts";
import { firstCurvesJson, listAnswer } from "./view_answers.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";
import { scopeOf, type ViewParts } from "./view_parts.ts";
import { askCurves, streamResponse } from "./view_stream.ts";

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

/** Handler of the API. */
export interface ViewApi {
  /** Returns whether a request is this API's, by its path. */
  handles(url: string): boolean;
  /** Never throws. */
  handle(request: HttpRequest): Promise<HttpResponse>;
}

const signalOf = (request: HttpRequest) => request.signal?.() ?? new AbortController().signal;

/** The parameters of a request; those of curves stand apart from the others. */
function parametersOf(url: string) {
  const all = new URLSearchParams(url.slice(pathOf(url).length + 1));
  const [curves, others] = [new URLSearchParams(), new URLSearchParams()];
  const ofCurves: readonly string[] = CURVE_PARAMETERS;
  for (const [name, value] of all) {
    (ofCurves.includes(name) ? curves : others).append(name, value);
  }
  return { curves, others };
}

/** Reads what a stream of several lists looks at. What is wrong with one list or job is no matter of the others. */
function viewOfLists(
  { kinds }: Pick<ViewParts, "kinds">,
  { curves, others }: ReturnType<typeof parametersOf>,
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
  const strangers = jobs.filter((job) => jobOf(job, kinds) === undefined)
    .slice(0, CURVE_LIMITS.jobs).map((job) => {
      const [kind = "", namespace = "", name = ""] = job.split("/");
      return { kind, namespace, name };
    });
  return { lists: read.lists, curves: asked.query, strangers };
}

/** Reads what a request looks at: the list unless `reads` is curves, and curves if it names jobs. */
function viewOf(
  { kinds }: Pick<ViewParts, "kinds">,
  url: string,
  reads: ViewReadKind,
): View | Refusal {
  const { curves, others } = parametersOf(url);
  if (reads === "view" && others.has("list")) return viewOfLists({ kinds }, { curves, others });
  if (reads === "curves") {
    const [unknown] = others.keys();
    if (unknown !== undefined) {
      const message = `is an unknown parameter; known: ${CURVE_PARAMETERS.join(", ")}`;
      return invalid("query", [{ field: unknown.slice(0, 64), message }]);
    }
  }
  const list = reads === "curves" ? undefined : listQuery(others);
  const asked = reads === "jobs" ? undefined : curveQuery(curves, kinds);
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
export function createViewApi(options: ViewApiOptions): ViewApi {
  const { peers, clock, onRead } = options;
  const routes = createRoutes(VIEW_ROUTES);
  const log = getLogger(["milepost", "page"]);

  /** Returns the refusal for an error: an API server without an answer, a client that went away, or a bug. */
  function failure(error: unknown, url: string): Refusal {
    if (error instanceof OverloadedError || error instanceof ClientGoneError) {
      return notNow({ reason: error.message, retryAfterMs: OVERLOADED_MS });
    }
    if (error instanceof KubeError || error instanceof TransportError) {
      const reason = "the API server cannot be asked now: try again soon";
      log.debug(reason, { problem: messageOf(error) });
      return notNow({ reason, retryAfterMs: 1000 });
    }
    log.error("a request of the page failed", { path: pathOf(url), error });
    return refuseReader("internal");
  }

  async function answerList({ reader }: Identified, { list }: View, request: HttpRequest) {
    if (list === undefined) return okResponse({}, FRESH_JSON);
    const scope = await scopeOf(options, reader, list);
    if ("why" in scope) return scope;
    const look = () => okResponse(listAnswer(options.list.window(list, scope), scope), FRESH_JSON);
    return await options.lookInTurn(reader.username, look, signalOf(request));
  }

  async function answerCurves(caller: Identified, view: View, request: HttpRequest) {
    const granted = await grantView(options, caller, view);
    if ("why" in granted) return granted;
    const asked = { cursors: new Map() };
    const zoomed = { ...granted, zooms: true };
    const found = await askCurves(
      options,
      caller.reader.username,
      zoomed,
      asked,
      signalOf(request),
    );
    if ("retryAfterMs" in found) return notNow(found);
    return jsonResponse(firstCurvesJson(found, granted.jobs), FRESH_JSON);
  }

  async function answerStream(caller: Identified, view: View) {
    const granted = await grantView(options, caller, view);
    return "why" in granted ? granted : streamResponse(options, caller, granted);
  }

  async function answer(request: HttpRequest): Promise<HttpResponse | Refusal> {
    const match = routes.find(request.method, pathOf(request.url));
    if (match === undefined) return refuseReader("unknown_path");
    if (match.route === undefined) return refuseReader("wrong_method", { allow: match.allow });
    const { reads } = match.route;
    const view = viewOf(options, request.url, reads);
    if ("why" in view) return view;
    const caller = await identify(options, request);
    if ("why" in caller) return caller;
    peers.proved(request.peer, clock.monotonic());
    if (reads === "jobs") return await answerList(caller, view, request);
    return reads === "curves"
      ? await answerCurves(caller, view, request)
      : await answerStream(caller, view);
  }

  async function judge(request: HttpRequest): Promise<HttpResponse | Refusal> {
    const refused = refusalOfPeer(options, request);
    if (refused !== undefined) return refused;
    try {
      return await answer(request);
    } catch (error) {
      return failure(error, request.url);
    }
  }

  function count({ url }: HttpRequest, result: RequestResult): void {
    const match = routes.find("GET", pathOf(url));
    if (match?.route !== undefined) onRead?.(match.route.reads, result);
  }

  return {
    handles: (url) => routes.find("GET", pathOf(url)) !== undefined,
    async handle(request) {
      const nowMs = clock.monotonic();
      const outcome = await judge(request);
      if (!("why" in outcome)) {
        count(request, "accepted");
        return outcome;
      }
      const result = resultOf(outcome);
      if (result === "unauthorized") {
        // Only what the API server was asked about has cost something.
        peers.failed(request.peer, nowMs, outcome.why === "refused" ? "signature" : "nothing");
      }
      count(request, result);
      log.debug("a request was refused", { why: outcome.why });
      return refusalResponse(outcome, FRESH_JSON);
    },
  };
}
