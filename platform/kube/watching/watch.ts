/** Decoder of a watch: one JSON object per line. */
import { z } from "zod";
import { KubeError } from "../errors.ts";
import type { Kind } from "../resource.ts";
import { decode, identify, statusError } from "../connection/response.ts";

/** An event of a watch. */
export type WatchEvent<T> =
  | { readonly type: "added" | "updated" | "deleted"; readonly object: T }
  | { readonly type: "bookmark"; readonly resourceVersion: string }
  /** An object that could not be read. `deleted`: it is gone. */
  | {
    readonly type: "problem";
    readonly key: string;
    readonly resourceVersion?: string;
    readonly problem: string;
    readonly deleted: boolean;
  }
  /** The server gave up: the watch ends here. */
  | { readonly type: "error"; readonly error: KubeError };

/** Longest line that is read: several times the largest object that etcd takes. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** The stream of a watch cannot be decoded: events are missing. */
export class CorruptStreamError extends Error {
  override name = "CorruptStreamError";
}

const eventSchema = z.looseObject({ type: z.string(), object: z.unknown() });
const codeSchema = z.looseObject({ code: z.int() });

const CHANGES: Readonly<Record<string, "added" | "updated" | "deleted">> = {
  ADDED: "added",
  MODIFIED: "updated",
  DELETED: "deleted",
};

/**
 * Whole lines of a stream, without the line feed and without empty ones. What stands after the
 * last line feed is dropped: a broken connection cut it. Throws {@link CorruptStreamError} if a
 * line is longer than `maxBytes`.
 */
export async function* lines(
  stream: AsyncIterable<Uint8Array>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let size = 0;
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      parts.push(decoder.decode(chunk.subarray(start, end)));
      const line = parts.join("");
      if (size + end - start > maxBytes) throw tooLong(maxBytes);
      parts = [];
      size = 0;
      start = end + 1;
      if (line.trim() !== "") yield line;
    }
    if (start === chunk.length) continue;
    size += chunk.length - start;
    if (size > maxBytes) throw tooLong(maxBytes);
    parts.push(decoder.decode(chunk.subarray(start), { stream: true }));
  }
}

function tooLong(maxBytes: number): CorruptStreamError {
  return new CorruptStreamError(`a line of the watch is longer than ${maxBytes} bytes`);
}

function parseLine(line: string): z.infer<typeof eventSchema> {
  try {
    return eventSchema.parse(JSON.parse(line));
  } catch (cause) {
    const start = JSON.stringify(line.slice(0, 40));
    throw new CorruptStreamError(`a line of the watch is not an event: ${start}`, { cause });
  }
}

function errorEvent(object: unknown): KubeError {
  const code = codeSchema.safeParse(object).data?.code ?? 500;
  return statusError(object, code, "watch");
}

/**
 * The event of one line; undefined for a type that is not known. Throws {@link CorruptStreamError}
 * if the line is no event at all; an event whose object cannot be read is a `problem`.
 */
export function decodeEvent<T>(kind: Kind<T>, line: string): WatchEvent<T> | undefined {
  const { type, object } = parseLine(line);
  if (type === "ERROR") return { type: "error", error: errorEvent(object) };
  const { key, resourceVersion } = identify(object);
  if (type === "BOOKMARK") {
    return resourceVersion === undefined ? undefined : { type: "bookmark", resourceVersion };
  }
  const change = CHANGES[type];
  if (change === undefined) return undefined;
  const decoded = decode(kind, object);
  if (decoded.ok) return { type: change, object: decoded.object };
  const { problem } = decoded;
  return { type: "problem", key, resourceVersion, problem, deleted: change === "deleted" };
}
