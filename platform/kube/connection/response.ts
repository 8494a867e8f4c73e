/** Responses of the API server: bounded bodies, `Status` objects, lists. */
import { isObject, jsonOfText } from "../../base/json.ts";
import { z } from "zod";
import {
  KubeError,
  type KubeErrorFields,
  messageOf,
  TooLargeError,
  TransportError,
} from "../errors.ts";
import type { KubeRequest } from "./request.ts";
import { apiVersionOf, formatKey, type Kind } from "../resource.ts";

/** Longest response that is read if the caller sets no other limit, in bytes. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;
/** Longest error response that is read, in bytes; the rest is cut. */
const MAX_ERROR_BYTES = 1024 * 1024;
/** Longest `Retry-After` that is observed: a proxy may ask for hours during a short outage. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** Bounds of the response to a read. */
export interface ResponseBounds {
  /** Longest response that is read, in bytes; a longer one is a `TooLargeError`. Default 256 MiB. */
  maxBytes?: number | undefined;
  /** Called with the length of each part of a response that has come, in bytes, also of one that is too long. */
  onBytes?: ((bytes: number) => void) | undefined;
}

/** An object that the kind's parser refused. */
export interface ListProblem {
  key: string;
  problem: string;
}

/** One page of a list, or the whole list if `limit` was not given. */
export interface ListResult<T> {
  items: T[];
  resourceVersion: string;
  /** Token of the next page; absent on the last. */
  continue?: string;
  /** Objects that were left out because they could not be read. */
  problems: ListProblem[];
}

const statusSchema = z.looseObject({
  kind: z.literal("Status").optional(),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.int().optional(),
  details: z.looseObject({ retryAfterSeconds: z.number().optional() }).optional(),
});

const listSchema = z.looseObject({
  metadata: z.looseObject({
    resourceVersion: z.string().default(""),
    continue: z.string().optional(),
  }).default({ resourceVersion: "" }),
  items: z.array(z.unknown()).nullish(),
});

const metaSchema = z.looseObject({
  metadata: z.looseObject({
    name: z.string().optional(),
    namespace: z.string().optional(),
    resourceVersion: z.string().optional(),
  }).optional(),
});

/** Name and version of an object that may be anything. */
export function identify(value: unknown): { key: string; resourceVersion?: string } {
  const meta = metaSchema.safeParse(value).data?.metadata;
  return {
    key: formatKey({ namespace: meta?.namespace, name: meta?.name ?? "" }),
    resourceVersion: meta?.resourceVersion,
  };
}

/** The chunks of a body; that it breaks off is a {@link TransportError}. */
export async function* unbroken(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (cause) {
    throw new TransportError(`the response ended early: ${messageOf(cause)}`, { cause });
  }
}

/** The body as text. Throws if it is longer than `limit` bytes, unless it may be cut. */
export async function readBody(
  response: Response,
  limit: number,
  { cut = false, onBytes }: { cut?: boolean; onBytes?: ((bytes: number) => void) | undefined } = {},
): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let size = 0;
  for await (const chunk of unbroken(response.body)) {
    size += chunk.length;
    onBytes?.(chunk.length);
    if (size > limit && !cut) {
      throw new TooLargeError(`the response is longer than ${limit} bytes`);
    }
    if (size > limit) break;
    parts.push(decoder.decode(chunk, { stream: true }));
  }
  parts.push(decoder.decode());
  return parts.join("");
}

/** Milliseconds of a `Retry-After` header in seconds; undefined if there is none. */
function retryAfterOf(response: Response): number | undefined {
  const header = response.headers.get("retry-after");
  if (header === null || !/^\d{1,9}$/.test(header.trim())) return undefined;
  return Number(header) * 1000;
}

/** The error of a `Status` object. `where` begins the message if the object has none. */
export function statusError(
  status: unknown,
  code: number,
  where: string,
  { retryAfterMs, warning }: Pick<KubeErrorFields, "retryAfterMs" | "warning"> = {},
) {
  const { data } = statusSchema.safeParse(status);
  const seconds = data?.details?.retryAfterSeconds;
  const asked = retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1000);
  return new KubeError(data?.message || `${where}: HTTP ${code}`, {
    code,
    reason: data?.reason || "Unknown",
    details: data?.details,
    warning,
    retryAfterMs: asked === undefined ? undefined : Math.min(asked, LONGEST_RETRY_AFTER_MS),
  });
}

/** The error of a refusal; reads its body. */
export async function errorOf(response: Response, request: Pick<KubeRequest, "method" | "path">) {
  const where = `${request.method} ${request.path.split("?")[0]}`;
  const text = await readBody(response, MAX_ERROR_BYTES, { cut: true });
  return statusError(jsonOfText(text), response.status, where, {
    retryAfterMs: retryAfterOf(response),
    warning: response.headers.get("warning") ?? undefined,
  });
}

/** Reads a response that is not needed, so that its connection can be used again. */
export async function discard(response: Response): Promise<void> {
  await readBody(response, MAX_ERROR_BYTES, { cut: true });
}

/** The JSON of a response. Throws if it is not JSON, or longer than `maxBytes`. */
export async function jsonOf(
  response: Response,
  request: KubeRequest,
  { maxBytes = MAX_BODY_BYTES, onBytes }: ResponseBounds = {},
): Promise<unknown> {
  const text = await readBody(response, maxBytes, { onBytes });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${request.method} ${request.path}: the response is not JSON`, { cause });
  }
}

/** Items of a list lack `apiVersion` and `kind`: the kind knows them. */
function filled(kind: Kind<unknown>, value: unknown): unknown {
  if (!isObject(value)) return value;
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...value };
}

/** An object, or the problem with it. */
export type Decoded<T> = { ok: true; object: T } | { ok: false; problem: string };

/** Reads an object by its kind. */
export function decode<T>(kind: Kind<T>, value: unknown): Decoded<T> {
  try {
    return { ok: true, object: kind.parse(filled(kind, value)) };
  } catch (error) {
    return { ok: false, problem: messageOf(error) };
  }
}

/** Parses an object by its kind. Throws if it is not one. */
export function decodeOrThrow<T>(kind: Kind<T>, value: unknown): T {
  const decoded = decode(kind, value);
  if (decoded.ok) return decoded.object;
  throw new Error(`${kind.kind} ${identify(value).key} cannot be read: ${decoded.problem}`);
}

/** Parses a page of a list; objects that cannot be read are reported as problems. */
export function decodeList<T>(kind: Kind<T>, value: unknown): ListResult<T> {
  const list = listSchema.parse(value);
  const items: T[] = [];
  const problems: ListProblem[] = [];
  for (const item of list.items ?? []) {
    const decoded = decode(kind, item);
    if (decoded.ok) items.push(decoded.object);
    else problems.push({ key: identify(item).key, problem: decoded.problem });
  }
  const { resourceVersion, continue: token } = list.metadata;
  return { items, resourceVersion, continue: token || undefined, problems };
}
