/** Headers by which a browser confines the page, on every response of its server. */
import type { HttpResponse } from "../../platform/http/message.ts";

/** Nothing is loaded from elsewhere, no text becomes script, and no other page has this one in a frame. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types milepost-worker",
].join("; ");

const HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** Returns the response with these headers; one that says how it may be kept goes on saying so. */
export function confined(response: HttpResponse): HttpResponse {
  const { "Cache-Control": kept } = response.headers;
  return {
    ...response,
    headers: {
      ...response.headers,
      ...HEADERS,
      ...(kept !== undefined && { "Cache-Control": kept }),
    },
  };
}
