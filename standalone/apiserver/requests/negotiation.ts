/** Media types: what the client takes, and what it sends. */
import { parse as parseYaml } from "yaml";
import { duplicateFields } from "./duplicate_fields.ts";
import { isJson } from "../objects/api_object.ts";
import { decodeProtobuf, PROTOBUF } from "./protobuf.ts";
import {
  badRequest,
  notAcceptable,
  tooLarge,
  unsupportedMediaType,
} from "../objects/status_error.ts";

/** Body of a request at most, as the real server has it. */
export const BODY_MAX_BYTES = 3 * 1024 * 1024;

/** How an answer is to be shown. */
export type Form = "json" | "table" | "metadata";

/** Media type of strategic merge patches and of the others. */
export const PATCH_TYPES = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

interface MediaType {
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Reads an Accept header, in the client's order. */
export function mediaTypes(header: string): MediaType[] {
  return header.split(",").map((entry) => {
    const [type = "", ...parameters] = entry.split(";").map((part) => part.trim());
    return {
      type: type.toLowerCase(),
      parameters: Object.fromEntries(parameters.map((one) => one.split("=", 2))),
    };
  }).filter(({ type }) => type !== "");
}

const JSON_TYPES = new Set(["application/json", "application/*", "*/*"]);

/** The first form that the client takes and this server makes. Throws 406. */
export function acceptedForm(header: string | null): Form {
  if (!header) return "json";
  for (const { type, parameters } of mediaTypes(header)) {
    if (!JSON_TYPES.has(type)) continue;
    const { as, v } = parameters;
    if (as === undefined) return "json";
    if (as === "Table" && (v === "v1" || v === "v1beta1")) return "table";
    if (as.startsWith("PartialObjectMetadata")) return "metadata";
  }
  throw notAcceptable("application/json");
}

/** Media type of a body, without its parameters. */
export function contentType(request: Request): string {
  return (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

/** Reads a body of at most {@link BODY_MAX_BYTES}, whatever its header says. Throws 413. */
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
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/** Reads a body of at most {@link BODY_MAX_BYTES} as text. Throws 413. */
export async function readBody(request: Request): Promise<string> {
  return new TextDecoder().decode(await readBytes(request));
}

const YAML = "application/yaml";

/** Parses YAML: its first document. Throws 400. */
function readYaml(text: string): unknown {
  try {
    return parseYaml(text, { maxAliasCount: 0 }) ?? undefined;
  } catch (cause) {
    if (cause instanceof Error) throw badRequest(`the body is not YAML: ${cause.message}`);
    throw cause;
  }
}

/** Parses JSON. Throws 400. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) throw badRequest(`the body is not JSON: ${cause.message}`);
    throw cause;
  }
}

/** Bodies that were read, with what tells the fields that they have twice. */
const twice = new WeakMap<object, () => string[]>();

/** Paths of the fields that a body of {@link readJson} has more than once: JSON keeps the last. */
export function fieldsTwice(body: unknown): string[] {
  return isJson(body) ? twice.get(body)?.() ?? [] : [];
}

/** Reads a body of JSON, YAML or protobuf; undefined where it is empty. Throws 400, 413 and 415. */
export async function readJson(request: Request): Promise<unknown> {
  const type = contentType(request);
  if (type === PROTOBUF) return decodeProtobuf(await readBytes(request));
  if (type === YAML) return readYaml(await readBody(request));
  if (type !== "" && type !== "application/json" && type !== "*/*") {
    throw unsupportedMediaType(
      `the body of the request was in an unknown format (${type}): ` +
        `accepted media types include: application/json, ${YAML}`,
    );
  }
  const text = await readBody(request);
  if (text === "") return undefined;
  const value = parseJson(text);
  if (isJson(value)) twice.set(value, () => duplicateFields(text));
  return value;
}
