/** Checks that a request comes from the page itself: its host, its origin, and marks that no other page can set. Pure. */
import type { HttpRequest } from "../../platform/http/message.ts";
import { failureOf, type FailureShape, forbidden } from "../../platform/http/refusals.ts";

/** Header that every change has: a page of another origin may not set it. */
const PAGE_HEADER = "X-Milepost";

/** Parts of a request that are checked. */
export type CheckedRequest = Pick<HttpRequest, "method" | "header">;

const MISDIRECTED = failureOf(421, "BadRequest")(
  "this server answers only to the address that it has printed, or to its own names",
);
const UNSUPPORTED = failureOf(415, "UnsupportedMediaType")(
  "the body must be JSON: send Content-Type: application/json",
);
const FOREIGN = forbidden("requests of other pages are refused");

const JSON_TYPE = /^application\/json(\s*;\s*charset="?utf-8"?)?$/i;

/** Returns why a request for this address is refused; `host` is the one that was printed, with its port. */
export function addressRefusal(
  request: CheckedRequest,
  host: string,
): FailureShape | undefined {
  // A name that leads here by another's DNS would let that one's page read everything.
  if (request.header("host") !== host) return MISDIRECTED;
  const origin = request.header("origin");
  return origin === undefined || origin === `http://${host}` ? undefined : FOREIGN;
}

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+?)\.?(:\d{1,5})?$/i;

/**
 * The same for a server with several names, on whatever port a tunnel or a proxy has: its own pages come over TLS
 * from the host that the request names, or from a proxy that has one of these names.
 */
export function hostsRefusal(
  request: CheckedRequest,
  hosts: ReadonlySet<string>,
): FailureShape | undefined {
  const host = request.header("host")?.toLowerCase() ?? "";
  const [, name] = HOST.exec(host) ?? [];
  if (name === undefined || !hosts.has(name)) return MISDIRECTED;
  const origin = request.header("origin")?.toLowerCase();
  if (origin === undefined || origin === `https://${host}`) return undefined;
  return origin.startsWith("https://") && hosts.has(origin.slice("https://".length))
    ? undefined
    : FOREIGN;
}

/** Returns why a read or a change is refused that another page has caused; documents may be linked to. */
export function sourceRefusal(request: CheckedRequest): FailureShape | undefined {
  const site = request.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin" && site !== "none") return FOREIGN;
  if (request.method === "GET") return undefined;
  if (request.header(PAGE_HEADER.toLowerCase()) !== "1") {
    return forbidden(`changes must have the header ${PAGE_HEADER}: 1`);
  }
  return JSON_TYPE.test(request.header("content-type") ?? "") ? undefined : UNSUPPORTED;
}
