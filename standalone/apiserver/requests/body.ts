/** Bodies of requests: JSON, YAML and protobuf, of a bounded size. */
import { Buffer } from "node:buffer";
import { parse as parseYaml } from "yaml";
import { badRequest, tooLarge, unsupportedMediaType } from "../objects/status_error.ts";
import { duplicateFields } from "./duplicate_fields.ts";
import { decodeProtobuf, PROTOBUF } from "./protobuf.ts";

/** The largest body of a request, as on the real server. */
const BODY_MAX_BYTES = 3 * 1024 * 1024;

/** Returns the media type of a body, without its parameters. */
export function contentType(request: Request): string {
  return (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

/** Reads a body of at most 3 MiB, whatever its Content-Length says. Throws 413. */
async function readBytes(request: Request): Promise<Uint8Array> {
  const length = Number(request.headers.get("content-length") ?? "0");
  if (length > BODY_MAX_BYTES) throw tooLarge(BODY_MAX_BYTES);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > BODY_MAX_BYTES) throw tooLarge(BODY_MAX_BYTES);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Reads a body of at most 3 MiB as text. Throws 413. */
export async function readText(request: Request): Promise<string> {
  return new TextDecoder().decode(await readBytes(request));
}

const YAML = "application/yaml";

/** Returns what `parse` makes of a body in that format. Throws 400 if it fails. */
function parsed(format: string, parse: () => unknown): unknown {
  try {
    return parse();
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    throw badRequest(`the body is not valid ${format}: ${cause.message}`);
  }
}

/** Parses the first document of a YAML text. Throws 400. */
function readYaml(text: string): unknown {
  return parsed("YAML", () => parseYaml(text, { maxAliasCount: 0 }) ?? undefined);
}

/** Parses JSON. Throws 400. */
export function parseJson(text: string): unknown {
  return parsed("JSON", () => JSON.parse(text));
}

/** A body that was read. */
export interface Body {
  /** Undefined if the body is empty. */
  readonly value: unknown;
  /** Paths of the fields that the text has more than once: JSON keeps the last. */
  readonly duplicateFields?: () => string[];
}

/** Reads a body of JSON, YAML or protobuf. Throws 400, 413 and 415. */
export async function readBody(request: Request): Promise<Body> {
  const type = contentType(request);
  if (type === PROTOBUF) return { value: decodeProtobuf(await readBytes(request)) };
  if (type === YAML) return { value: readYaml(await readText(request)) };
  if (type !== "" && type !== "application/json" && type !== "*/*") {
    throw unsupportedMediaType(
      `the body of the request was in an unknown format (${type}): ` +
        `accepted media types include: application/json, ${YAML}`,
    );
  }
  const text = await readText(request);
  if (text === "") return { value: undefined };
  return { value: parseJson(text), duplicateFields: () => duplicateFields(text) };
}

/** Reads the value of a body; undefined if it is empty. Throws 400, 413 and 415. */
export async function readJson(request: Request): Promise<unknown> {
  return (await readBody(request)).value;
}
