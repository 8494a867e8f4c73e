/**
 * The HTTP side of admission, without sockets: one request in, one answer out. What is refused gets
 * a `metav1.Status`; what breaks inside gets 500 without a word about the cause, and a line of log.
 */
import { getLogger } from "@logtape/logtape";
import { Buffer } from "node:buffer";
import type { Clock } from "../kube/clock.ts";
import { type AdmissionHandler, decodeReview, encodeReview } from "./admission_review.ts";

const log = getLogger(["milepost", "webhook"]);

/** Handlers by path (see {@link WEBHOOK_PATHS}). */
export type AdmissionHandlers = Readonly<Record<string, AdmissionHandler>>;

/** What of an HTTP request counts. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  /** Header values by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** An answer, body whole. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Bounds of one request. */
export interface AdmissionLimits {
  /** Largest body, in bytes. */
  readonly bodyBytes: number;
  /** Longest time for a handler, in milliseconds; after it the answer is 504. */
  readonly handlerMs: number;
}

/** 3 MiB: what etcd stores of an object, twice (old and new). */
export const ADMISSION_LIMITS: AdmissionLimits = { bodyBytes: 3 * 1024 * 1024, handlerMs: 8_000 };

function json(status: number, body: unknown, headers: Record<string, string> = {}): HttpAnswer {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
}

function failure(
  code: number,
  reason: string,
  message: string,
  headers: Record<string, string> = {},
): HttpAnswer {
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" };
  return json(code, { ...status, message, reason, code }, headers);
}

/** The rest of a body that was refused is not read: the connection is of no more use. */
const CLOSE = { connection: "close" };

function tooLarge(limit: number): HttpAnswer {
  const message = `body must be at most ${limit} bytes`;
  return failure(413, "RequestEntityTooLarge", message, CLOSE);
}

/** What is wrong with the request before its body is read; undefined where nothing is. */
function checkHead(request: HttpRequest, known: boolean, limit: number): HttpAnswer | undefined {
  if (!known) return failure(404, "NotFound", "no webhook has this path", CLOSE);
  if (request.method !== "POST") {
    return failure(405, "MethodNotAllowed", "use POST", { allow: "POST", ...CLOSE });
  }
  const mediaType = (request.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") {
    const message = "Content-Type must be application/json";
    return failure(415, "UnsupportedMediaType", message, CLOSE);
  }
  const length = Number(request.headers["content-length"] ?? 0);
  return length > limit ? tooLarge(limit) : undefined;
}

/** The body's bytes, or undefined where there are more than `limit`. */
async function readBounded(
  body: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseJson(bytes: Buffer): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(bytes.toString("utf8")) };
  } catch {
    return { ok: false };
  }
}

/** Answers admission requests with `handlers`. Never throws. */
export function createAdmissionHttp(
  handlers: AdmissionHandlers,
  clock: Clock,
  limits: AdmissionLimits = ADMISSION_LIMITS,
): (request: HttpRequest) => Promise<HttpAnswer> {
  const byPath = new Map(Object.entries(handlers));

  async function decide(handler: AdmissionHandler, value: unknown): Promise<HttpAnswer> {
    const review = decodeReview(value);
    if (!review.ok) return failure(400, "BadRequest", review.problem);
    const ended = new AbortController();
    const deadline = clock.sleep(limits.handlerMs, ended.signal).then(() => "late" as const);
    const tooLate = new AbortController();
    try {
      const outcome = await Promise.race([handler(review.request, tooLate.signal), deadline]);
      if (outcome !== "late") return json(200, encodeReview(review.request.uid, outcome));
      tooLate.abort();
      return failure(504, "Timeout", `no decision within ${limits.handlerMs} ms; try again`);
    } finally {
      ended.abort();
    }
  }

  async function answer(request: HttpRequest): Promise<HttpAnswer> {
    const path = request.url.split("?")[0] ?? "";
    const handler = byPath.get(path);
    const refused = checkHead(request, handler !== undefined, limits.bodyBytes);
    if (refused !== undefined || handler === undefined) {
      return refused ?? failure(404, "NotFound", "no webhook has this path", CLOSE);
    }
    const bytes = await readBounded(request.body, limits.bodyBytes);
    if (bytes === undefined) return tooLarge(limits.bodyBytes);
    if (bytes.byteLength === 0) return failure(400, "BadRequest", "body must not be empty");
    const value = parseJson(bytes);
    if (!value.ok) return failure(400, "BadRequest", "body must be JSON");
    return await decide(handler, value.value);
  }

  return async (request) => {
    try {
      return await answer(request);
    } catch (error) {
      log.error("admission request failed", { path: request.url, error });
      return failure(500, "InternalError", "the webhook could not decide; its log says why");
    }
  };
}
