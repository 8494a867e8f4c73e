/** Bounded reads of objects for one request: so many of each kind and so many bytes, a page at a time. */
import { type JsonObject, objectAt } from "../../platform/base/json.ts";
import type { Kind, ObjectKey } from "../../platform/kube/resource.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { ignoring, isForbidden } from "../../platform/kube/errors.ts";
import { MAX_OBJECT_BYTES, pagesOf } from "../../platform/kube/watching/paged_list.ts";
import type { Semaphore } from "../../platform/base/semaphore.ts";

/** Bounds of what one request reads, beside those of each list. */
export const READ_LIMITS = {
  /** Bytes of all its responses, after which the rest of lists is left out. */
  bytes: 64 << 20,
  /** Longest response with several objects, in bytes. */
  pageBytes: 2 << 20,
  /** Longest response with a single one, in bytes. */
  objectBytes: MAX_OBJECT_BYTES,
  /** Most objects of a page. */
  page: 500,
  /** Of one response, in milliseconds. */
  deadlineMs: 10_000,
} as const;

/** What is read with. */
export interface BoundedReads {
  readonly client: Pick<KubeClient, "get" | "list" | "read">;
  readonly signal: AbortSignal;
  /** Bounds the responses that are in memory at a time, of this request and of others. */
  readonly places?: Semaphore;
  /** What the request may still read. */
  readonly budget: { bytes: number };
}

/** Returns what one request reads with. */
export function boundedReads(
  client: BoundedReads["client"],
  signal: AbortSignal,
  places?: Semaphore,
): BoundedReads {
  return { client, signal, budget: { bytes: READ_LIMITS.bytes }, ...(places && { places }) };
}

/** Items, or that they may not be read; `isCut` if there are more. */
export interface Found<T> {
  readonly items: readonly T[];
  readonly isCut?: boolean;
  readonly isDenied?: boolean;
}

/** What is listed, and how much of it. */
export interface BoundedList {
  readonly most: number;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Returns the kind without reading of its objects: they are shown as they are. */
export function asItIs(kind: Omit<Kind<unknown>, "parse">): Kind<JsonObject> {
  return { ...kind, parse: (value) => objectAt({ value }, "value") };
}

/** Returns the kind, of whose objects only what `read` returns is kept: a page is gone when the next one comes. */
export function keeping<T, R>(kind: Kind<T>, read: (object: T) => R): Kind<R> {
  return { ...kind, parse: (value) => read(kind.parse(value)) };
}

/** Returns that nothing may be read where the API server says so. */
export async function orDenied<T>(read: Promise<Found<T>>): Promise<Found<T>> {
  return await read.catch(ignoring(isForbidden)) ?? { items: [], isDenied: true };
}

const countedBytes = ({ budget }: BoundedReads) => (bytes: number) => void (budget.bytes -= bytes);

const inPlace = <T>({ places, signal }: BoundedReads, read: () => Promise<T>): Promise<T> =>
  places === undefined ? read() : places.run(read, signal);

/** Reads one object, also when lists have read all that the request may: of these there are few. */
export function readOne<T>(reads: BoundedReads, kind: Kind<T>, key: ObjectKey): Promise<T> {
  const { client, signal } = reads;
  const { deadlineMs, objectBytes: maxBytes } = READ_LIMITS;
  const onBytes = countedBytes(reads);
  return inPlace(reads, () => client.get(kind, key, { signal, deadlineMs, maxBytes, onBytes }));
}

/** Reads the text of a path, such as that of a log, as {@link readOne} reads an object. */
export async function readText(
  reads: BoundedReads,
  path: string,
  bounds: { readonly maxBytes: number; readonly deadlineMs: number },
): Promise<string> {
  const { client, signal } = reads;
  const call = { ...bounds, signal, onBytes: countedBytes(reads) };
  return (await inPlace(reads, () => client.read(path, call))).text;
}

/**
 * Reads pages until there are as many as `most`, or the request has read as much as it may. Objects of which the kind
 * keeps nothing do not count.
 */
export async function listUpTo<T>(
  reads: BoundedReads,
  kind: Kind<T | undefined>,
  { most, ...selection }: BoundedList,
): Promise<Found<T>> {
  const { client, signal, places, budget } = reads;
  const { pageBytes, page: pageSize, deadlineMs } = READ_LIMITS;
  const items: T[] = [];
  let isCut = false;
  if (budget.bytes <= 0) return { items, isCut: true };
  const call = { deadlineMs, onBytes: countedBytes(reads) };
  const options = { client, kind, selection, signal, pageSize, pageBytes, call };
  for await (const page of pagesOf({ ...options, ...(places && { places }) })) {
    const room = most - items.length;
    const kept = page.items.filter((it) => it !== undefined);
    items.push(...kept.slice(0, room));
    // An object that is too large, or of no such kind, is not shown.
    isCut ||= page.problems.length > 0 || kept.length > room;
    if (items.length < most && budget.bytes > 0) continue;
    isCut ||= page.continue !== undefined;
    break;
  }
  return { items, isCut };
}
