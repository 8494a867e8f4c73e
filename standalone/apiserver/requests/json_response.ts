/** Responses in JSON. */

/** Returns a response with a JSON body. */
export function jsonResponse(body: unknown, status = 200, headers: HeadersInit = {}): Response {
  const all = new Headers(headers);
  if (!all.has("content-type")) all.set("content-type", "application/json");
  all.set("cache-control", "no-cache, private");
  return new Response(JSON.stringify(body), { status, headers: all });
}
