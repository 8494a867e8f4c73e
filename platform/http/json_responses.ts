/** Responses of 200 with JSON. */
import type { HttpResponse } from "./message.ts";

const JSON_TYPE = { "Content-Type": "application/json" } as const;

/** Headers of what is another a moment later. */
export const FRESH_JSON = { ...JSON_TYPE, "Cache-Control": "no-store" } as const;

/** Returns a response of 200 with what is JSON already. */
export function jsonResponse(
  body: string,
  headers: Readonly<Record<string, string>> = JSON_TYPE,
): HttpResponse {
  return { status: 200, headers, body };
}

/** Returns a response of 200 with `content` as JSON. */
export function okResponse(
  content: unknown,
  headers?: Readonly<Record<string, string>>,
): HttpResponse {
  return jsonResponse(JSON.stringify(content), headers);
}
