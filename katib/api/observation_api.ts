/** Observation API: runs requests through their checks, cheapest first. */
import { getLogger } from "@logtape/logtape";
import { KubeError, messageOf, TransportError } from "../../platform/kube/errors.ts";
import { refusalOfPeer } from "../../platform/http/callers/reader_checks.ts";
import { refuseReader } from "../../platform/http/callers/reader_refusals.ts";
import { FRESH_JSON, okResponse } from "../../platform/http/json_responses.ts";
import { type ApiParts, check, type Granted, unknownJob } from "./checks.ts";
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
import { readPage, watchResponse } from "./reads.ts";
import { openApiDocument } from "./observation_openapi.ts";
import { createRoutes, pathOf, type Route } from "../../platform/http/routes.ts";
import { stopJob } from "./stop_jobs.ts";
import { type JobKind, observationPath, stopPath } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { observationQuery } from "./observation_query.ts";

/** Path of the document that describes the API. */
export const OPENAPI_PATH = "/openapi/v3";

/** A route of the API; without a kind of job it is that of the document. */
export interface ObservationRoute extends Route {
  readonly kind?: JobKind;
  /** Whether it stops jobs. */
  readonly stops?: boolean;
}

/** Returns the table of routes. */
export function observationRoutes(kinds: JobKinds): readonly ObservationRoute[] {
  return [
    ...kinds.all.flatMap((kind) => [
      { method: "GET", path: observationPath(kind, "{namespace}", "{name}"), kind },
      // A decision about another operator's job could not be stored in it.
      ...(kind.isForeign
        ? []
        : [{ method: "POST", path: stopPath(kind, "{namespace}", "{name}"), kind, stops: true }]),
    ]),
    { method: "GET", path: OPENAPI_PATH },
  ];
}

/** `reads_total{kind}`. */
export type ApiReadKind = "observation" | "observation_watch";

/** Options of {@link createObservationApi}. */
export interface ObservationApiOptions extends ApiParts {
  /** A read, or the beginning of a stream, was answered. */
  readonly onRead?: (kind: ApiReadKind, result: RequestResult) => void;
  /** A request to stop a job was answered. */
  readonly onStop?: (result: RequestResult) => void;
}

/** Handler of the API. */
export interface ObservationApi {
  /** Returns whether a request is this API's, by its path. */
  handles(url: string): boolean;
  /** Never throws. */
  handle(request: HttpRequest): Promise<HttpResponse>;
}

/** Pages that are read at a time: they are long. */
const MAX_READS = 64;

function fewAtATime(ask: ApiParts["ask"], max = MAX_READS): ApiParts["ask"] {
  let inHand = 0;
  return async (asked, signal) => {
    if (inHand >= max) {
      return {
        retryAfterMs: 1000,
        reason: "too many observation logs are being read: try again soon",
      };
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
export function createObservationApi(options: ObservationApiOptions): ObservationApi {
  const { kinds, clock, onRead, onStop } = options;
  const routes = createRoutes(observationRoutes(kinds));
  const document = JSON.stringify(openApiDocument(kinds));
  const log = getLogger(["milepost", "katib"]);
  const parts = { ...options, ask: fewAtATime(options.ask, options.maxReads) };

  /** Returns the refusal for an error: an API server without an answer, a client that went away, or a bug. */
  function failure(error: unknown, url: string): Refusal {
    if (error instanceof OverloadedError || error instanceof ClientGoneError) {
      return notNow({ reason: error.message, retryAfterMs: OVERLOADED_MS });
    }
    if (error instanceof KubeError || error instanceof TransportError) {
      log.debug("cannot look up the job of an observation", { problem: messageOf(error) });
      const reason = "the job could not be looked up now: try again soon";
      return notNow({ reason, retryAfterMs: 1000 });
    }
    log.error("a request for an observation failed", { path: pathOf(url), error });
    return refuseReader("internal");
  }

  async function observe(granted: Granted): Promise<HttpResponse | Refusal> {
    const job = await parts.findJob(granted.job);
    if (job === undefined) return unknownJob(granted.job);
    if (granted.query.watch) return watchResponse(parts, granted, job);
    const page = await readPage(parts, granted, job);
    return "why" in page ? page : okResponse(page, FRESH_JSON);
  }

  async function answer(request: HttpRequest): Promise<HttpResponse | Refusal> {
    const path = pathOf(request.url);
    const match = routes.find(request.method, path);
    if (match === undefined) return refuseReader("unknown_path");
    if (match.route === undefined) return refuseReader("wrong_method", { allow: match.allow });
    const { route: { kind, stops }, names: [namespace = "", name = ""] } = match;
    if (kind === undefined) return documentResponse(document);
    if (stops) return await stopJob(parts, request, { kind, namespace, name });
    const query = observationQuery(request.url.slice(path.length + 1));
    if ("causes" in query) return invalid("query", query.causes);
    const granted = await check(options, request, { job: { kind, namespace, name }, query });
    return "why" in granted ? granted : await observe(granted);
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
    const path = pathOf(url);
    if (path === OPENAPI_PATH) return;
    if (routes.find("POST", path)?.route !== undefined) return onStop?.(result);
    const query = observationQuery(url.slice(path.length + 1));
    onRead?.("watch" in query && query.watch ? "observation_watch" : "observation", result);
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
        const cost = outcome.why === "refused" ? "signature" : "nothing";
        options.peers.failed(request.peer, nowMs, cost);
      }
      count(request, result);
      log.debug("a request was refused", { why: outcome.why });
      return refusalResponse(outcome, FRESH_JSON);
    },
  };
}

function documentResponse(body: string): HttpResponse {
  return {
    status: 200,
    headers: { "Content-Type": "application/json", "Cache-Control": "public, max-age=300" },
    body,
  };
}
