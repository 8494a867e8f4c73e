/** Routes of the page's server for those who have a session, and what each of them reads or changes. */
import { type NamedJob, restartPath, stopPath } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { GRACE_BY_HAND_SECONDS } from "../../crds/wire/stop_request.ts";
import { isObject, type JsonObject, jsonOfBytes } from "../../platform/base/json.ts";
import { okResponse } from "../../platform/http/json_responses.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "../../platform/http/message.ts";
import {
  badRequest,
  bodyTooLarge,
  failureResponse,
  notFound,
  refusalResponse,
  unavailable,
} from "../../platform/http/refusals.ts";
import { queryOf, type Route } from "../../platform/http/routes.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { BoundedReads } from "../../views/details/bounded_reads.ts";
import { changeJob, changeSchema, JOB_CHANGES, type JobChange } from "../../views/job_changes.ts";
import { jobDetails } from "../../views/details/details_of_job.ts";
import type { ReadKeptPods } from "../../views/details/kept_pods.ts";
import { LOG_LIMITS, logPath } from "../../views/details/log_query.ts";
import { proxy } from "./proxied_response.ts";
import type { SearchReader } from "../trials/search.ts";
import { searchDetails, searchList } from "./search_routes.ts";
import { rightsOn } from "./viewer_rights.ts";

/** Parts of the routes. */
export interface PageParts {
  /** The API server, as the viewer. */
  readonly client: KubeClient;
  readonly kinds: JobKinds;
  readonly clock: Clock;
  /** Answers requests for the list, for curves and for the stream of both. */
  readonly view: HttpHandler;
  /** Returns the manager as the viewer reaches it; undefined if nothing can be stopped through it now. */
  readonly manager: () => ManagerClient | undefined;
  /** Reads pods that are gone and whose logs are kept. Default: none are. */
  readonly keptPods?: ReadKeptPods;
}

/** A call of a visitor. */
export interface PageCall {
  readonly parts: PageParts;
  readonly request: HttpRequest;
  /** Those in the path. */
  readonly names: readonly string[];
  /** The body of a change, as JSON. */
  readonly body: unknown;
  /** Tells visitors apart. */
  readonly visitor: string;
  readonly reads: BoundedReads;
  /** Aborts when the client has gone, or there is no time left. */
  readonly signal: AbortSignal;
}

/** A route. */
export interface PageRoute extends Route {
  readonly answer: (asked: PageCall) => Promise<HttpResponse>;
}

/** Longest body of a request, in bytes. */
export const MAX_BODY_BYTES = 16_384;

/** A body as JSON, or the response if it is too long, or no JSON. */
export type ReceivedBody = { readonly value: unknown } | { readonly refusal: HttpResponse };

/** Reads a body as JSON. */
export async function readJson(request: HttpRequest): Promise<ReceivedBody> {
  const bytes = await request.readBody(MAX_BODY_BYTES);
  if (bytes === undefined) return { refusal: refusalResponse(bodyTooLarge(MAX_BODY_BYTES)) };
  const value = jsonOfBytes(bytes);
  return value === undefined
    ? { refusal: failureResponse(badRequest("the body is not JSON")) }
    : { value };
}

/** What searches are read with. */
const readerOf = ({ parts: { kinds, manager }, reads, visitor }: PageCall): SearchReader => ({
  ...reads,
  kinds,
  manager: manager(),
  viewer: visitor,
});

type JobAnswer = (asked: PageCall, job: NamedJob) => Promise<HttpResponse>;

/** A route whose path names a job. */
function ofJob(method: string, first: string, answer: JobAnswer): PageRoute {
  return {
    method,
    path: `/${first}/{kind}/{namespace}/{name}`,
    answer(asked) {
      const { parts, names: [id = "", namespace = "", name = ""] } = asked;
      const kind = parts.kinds.byId(id);
      if (kind !== undefined) return answer(asked, { kind, namespace, name });
      return Promise.resolve(failureResponse(notFound(`there is no kind of job ${id}`)));
    },
  };
}

const details: JobAnswer = async ({ reads, parts }, job) =>
  okResponse(await jobDetails(reads, job, parts.keptPods));

const rights: JobAnswer = async ({ parts: { client, manager }, signal }, job) => {
  const isManaged = manager() !== undefined;
  return okResponse(await rightsOn(client, job, { isManaged, signal }));
};

/** A change that is asked of the manager, which reads the body, and says what is wrong with it. */
const asked = (
  pathOf: typeof stopPath,
  verb: string,
  defaults: JsonObject = {},
): JobAnswer =>
async ({ parts, signal, body }, { kind, namespace, name }) => {
  const client = parts.manager();
  if (client === undefined) {
    return failureResponse(unavailable(`no manager can be reached that would ${verb} the job`));
  }
  return await proxy(client, { signal: () => signal }, {
    method: "POST",
    path: pathOf(kind, namespace, name),
    headers: { "Content-Type": "application/json", "Accept": "application/json" },
    body: JSON.stringify(isObject(body) ? { ...defaults, ...body } : body),
    isManager: true,
  });
};

const changeTo = (change: JobChange): JobAnswer => async ({ parts, signal, body }, job) => {
  const { data } = changeSchema.safeParse(body);
  if (data === undefined) {
    return failureResponse(badRequest('the body must be {} or {"uid":"..."}'));
  }
  await changeJob(parts.client, job, { change, uid: data.uid, signal });
  return okResponse({});
};

/** The table. */
export const PAGE_ROUTES: readonly PageRoute[] = [
  ...["jobs", "curves", "events"].map((it): PageRoute => ({
    method: "GET",
    path: `/view/v1/${it}`,
    answer: ({ parts, request }) => parts.view(request),
  })),
  ofJob("GET", "objects", details),
  ofJob("GET", "rights", rights),
  {
    method: "GET",
    path: "/searches",
    answer: (asked) => searchList(readerOf(asked), asked.request),
  },
  {
    method: "GET",
    path: "/searches/{kind}/{namespace}/{name}",
    answer: (asked) => searchDetails(readerOf(asked), asked.request, asked.names),
  },
  {
    method: "GET",
    path: "/logs/{namespace}/{pod}",
    async answer({ parts, request, signal, names: [namespace = "", pod = ""] }) {
      const query = new URLSearchParams(queryOf(request.url));
      const path = logPath({ namespace, pod }, query);
      if (typeof path !== "string") return failureResponse(badRequest(path.problem));
      return await proxy(parts.client, { signal: () => signal }, {
        path,
        streamed: { type: "text/plain", idleMs: LOG_LIMITS.idleMs },
      });
    },
  },
  ...JOB_CHANGES.map((change) => ofJob("POST", change, changeTo(change))),
  ofJob(
    "POST",
    "stop",
    asked(stopPath, "stop", { defaultGraceSeconds: GRACE_BY_HAND_SECONDS }),
  ),
  ofJob("POST", "restart", asked(restartPath, "restart")),
];
