/** Observation API: its routes, and what each of them answers. */
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import { getLogger } from "@logtape/logtape";
import { type Answer, type Api, type Arrival, createApi } from "../../platform/http/api_shell.ts";
import { apiOfReaders } from "../../platform/http/callers/reader_checks.ts";
import { FRESH_JSON, jsonResponse, okResponse } from "../../platform/http/json_responses.ts";
import { type ApiParts, checkCaller, type Granted, unknownJob } from "./checks.ts";
import { invalid, notNow, type RequestResult } from "../../platform/http/refusals.ts";
import { readPage, watchResponse } from "./reads.ts";
import { openApiDocument } from "./observation_openapi.ts";
import { queryOf, type Route } from "../../platform/http/routes.ts";
import { changeJob, type ChangeVerb } from "./change_requests.ts";
import {
  type JobKind,
  observationPath,
  observationsPath,
  restartPath,
  stopPath,
} from "../../crds/job_kind.ts";
import { streamJobs } from "./many_jobs.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { observationQuery } from "./observation_query.ts";

/** Path of the document that describes the API. */
const OPENAPI_PATH = "/openapi/v3";

/** A route of the API; without a kind of job it is that of the document. */
export interface ObservationRoute extends Route {
  readonly kind?: JobKind;
  /** How it changes jobs, if it does. */
  readonly changes?: ChangeVerb;
  /** Whether it is of many jobs. */
  readonly isOfMany?: boolean;
}

const changeRoute = (kind: JobKind, changes: ChangeVerb, path: typeof stopPath) => ({
  method: "POST",
  path: path(kind, "{namespace}", "{name}"),
  kind,
  changes,
});

/** Returns the table of routes. */
export function observationRoutes(kinds: JobKinds): readonly ObservationRoute[] {
  return [
    ...kinds.all.flatMap((kind) => [
      { method: "GET", path: observationPath(kind, "{namespace}", "{name}"), kind },
      { method: "POST", path: observationsPath(kind, "{namespace}"), kind, isOfMany: true },
      // A decision about another operator's job could not be stored in it.
      ...(kind.isForeign ? [] : [changeRoute(kind, "stop", stopPath)]),
      // It says why it does nothing with those.
      changeRoute(kind, "restart", restartPath),
    ]),
    { method: "GET", path: OPENAPI_PATH },
  ];
}

/** Options of {@link createObservationApi}. */
export interface ObservationApiOptions extends ApiParts {
  /** A read, or the beginning of a stream, was answered; `kind` is that of `reads_total`. */
  readonly onRead?: (
    kind: "observation" | "observation_watch" | "observations",
    result: RequestResult,
  ) => void;
  /** A request to stop or to restart a job was answered. */
  readonly onChange?: (verb: ChangeVerb, result: RequestResult) => void;
}

const DOCUMENT_HEADERS = {
  "Content-Type": "application/json",
  "Cache-Control": "public, max-age=300",
};

/** Pages that are read at a time: they are long. */
const MAX_READS = 64;

function fewAtATime(ask: ApiParts["ask"], max = MAX_READS): ApiParts["ask"] {
  let inHand = 0;
  return async (asked, signal) => {
    if (inHand >= max) {
      return comeAgain("too many observation logs are being read: try again soon");
    }
    inHand += 1;
    try {
      return await ask(asked, signal);
    } finally {
      inHand -= 1;
    }
  };
}

/** Creates the API. */
export function createObservationApi(options: ObservationApiOptions): Api {
  const { kinds, onRead, onChange } = options;
  const document = jsonResponse(JSON.stringify(openApiDocument(kinds)), DOCUMENT_HEADERS);
  const log = getLogger(["milepost", "katib"]);
  const parts = { ...options, ask: fewAtATime(options.ask, options.maxReads) };

  async function observe(granted: Granted): Promise<Answer> {
    const job = await parts.findJob(granted.job);
    if (job === undefined) return unknownJob(granted.job);
    if (granted.query.watch) return watchResponse(parts, granted, job);
    const page = await readPage(parts, granted, job);
    return "why" in page ? page : okResponse(page, FRESH_JSON);
  }

  return createApi<Arrival, ObservationRoute>({
    ...apiOfReaders(options),
    log,
    routes: observationRoutes(kinds),
    async answer({ request }, { kind, changes, isOfMany }, [namespace = "", name = ""]) {
      if (kind === undefined) return document;
      if (isOfMany) return await streamJobs(parts, request, { kind, namespace });
      const job = { kind, namespace, name };
      if (changes !== undefined) return await changeJob[changes](parts, request, job);
      const query = observationQuery(queryOf(request.url));
      if ("causes" in query) return invalid("query", query.causes);
      const caller = await checkCaller(options, request, job, "get");
      return "why" in caller ? caller : await observe({ ...caller, job, query });
    },
    unreachable(problem) {
      log.debug("cannot look up the job of an observation", { problem });
      return notNow(comeAgain("the job could not be looked up now: try again soon"));
    },
    onAnswer({ request }, result, route) {
      if (route?.kind === undefined) return;
      if (route.changes !== undefined) return onChange?.(route.changes, result);
      if (route.isOfMany) return onRead?.("observations", result);
      const query = observationQuery(queryOf(request.url));
      onRead?.("watch" in query && query.watch ? "observation_watch" : "observation", result);
    },
  });
}
