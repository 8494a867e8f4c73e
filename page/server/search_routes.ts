/** Routes of searches: which there are, and one of them with its trials. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { HttpRequest, HttpResponse } from "../../platform/http/message.ts";
import { badRequest, failureResponse, notFound } from "../../platform/http/refusals.ts";
import { NAME_PATTERN, queryOf } from "../../platform/http/routes.ts";
import { listSearches, SEARCH_KINDS } from "../trials/search_kinds.ts";
import { DIRECTIONS, SEARCH_LIMITS, type SearchReader } from "../trials/search.ts";
import { shownSearch, withinAnswer } from "../trials/shown_search.ts";

const namespace = z.string().regex(new RegExp(`^${NAME_PATTERN}$`));
const namespacesSchema = z.array(namespace).max(SEARCH_LIMITS.namespaces);
const choiceSchema = z.strictObject({
  metric: z.string().min(1).max(SEARCH_LIMITS.textLength).optional(),
  direction: z.enum(DIRECTIONS).optional(),
});

const parametersOf = ({ url }: HttpRequest) => new URLSearchParams(queryOf(url));

/** Returns the response with a value, or that the browser has it already. */
function tagged(request: HttpRequest, value: unknown): HttpResponse {
  const body = JSON.stringify(value);
  const tag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
  const headers = { "Content-Type": "application/json", "ETag": tag };
  return request.header("if-none-match") === tag
    ? { status: 304, headers, body: "" }
    : { status: 200, headers, body };
}

/** Answers which searches there are in the namespaces of the query, or in all. */
export async function searchList(
  reader: SearchReader,
  request: HttpRequest,
): Promise<HttpResponse> {
  const query = parametersOf(request);
  const { data: namespaces } = namespacesSchema.safeParse(query.getAll("namespace"));
  if (namespaces === undefined || [...query.keys()].some((it) => it !== "namespace")) {
    const message = `namespace must be a name, at most ${SEARCH_LIMITS.namespaces} times`;
    return failureResponse(badRequest(message));
  }
  return tagged(request, await listSearches(reader, namespaces));
}

/** Answers one search with its trials. */
export async function searchDetails(
  reader: SearchReader,
  request: HttpRequest,
  [id = "", namespace = "", name = ""]: readonly string[],
): Promise<HttpResponse> {
  const kind = SEARCH_KINDS.find((it) => it.id === id);
  if (kind === undefined) return failureResponse(notFound(`there is no kind of search ${id}`));
  const { data: choice } = choiceSchema.safeParse(Object.fromEntries(parametersOf(request)));
  if (choice === undefined) {
    const message = "metric must be a name, and direction minimize or maximize";
    return failureResponse(badRequest(message));
  }
  const found = await kind.read(reader, { namespace, name });
  if (found === undefined) {
    return failureResponse(
      notFound(`there is no search ${name} in ${namespace}, and no trial of it`),
    );
  }
  const { metric, direction } = choice;
  const search = shownSearch(found, {
    ...(metric !== undefined && { metric }),
    ...(direction !== undefined && { direction }),
  });
  return tagged(request, withinAnswer(search, SEARCH_LIMITS.answerCharacters));
}
