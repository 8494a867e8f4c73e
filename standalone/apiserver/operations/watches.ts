/** Watches: initial objects and later changes, as a stream of JSON lines. */
import { onAbort } from "../../../platform/base/aborted.ts";
import { after, every, systemClock } from "../../../platform/base/clock.ts";
import { apiVersionOf, type Resource } from "../kinds/api_resource.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { expired, type StatusError } from "../objects/status_error.ts";
import { KEYS, sameKey } from "../storage/resource_keys.ts";
import type { Change } from "../storage/store.ts";
import { asServed, type Call, type Context } from "./context.ts";
import { revisionOf, wrongMatch } from "./lists.ts";
import { isTrue } from "./query_parameters.ts";
import { selectorOf } from "./selectors.ts";

/** An event of a watch. */
export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: unknown;
}

/** Converts an object to what the client asked for: itself, its metadata or a table. */
export type Present = (object: ApiObject, type: WatchEvent["type"]) => unknown;

/** A watch ends when this many events wait for a slow client. */
const QUEUE_MAX = 20_000;
/** Interval of bookmarks, if the client allows them. */
const BOOKMARK_INTERVAL_MS = 60_000;
/** Time after which watches end if the client does not set one. */
const DEFAULT_TIMEOUT_SECONDS = 3600;
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

interface Start {
  /** Objects to send first. */
  readonly objects: ApiObject[];
  readonly changes: Change[];
  /** A bookmark ends the initial events. */
  readonly announced: boolean;
}

function startOf(context: Context, { resource, namespace }: Call, query: URLSearchParams): Start {
  const { store } = context;
  const revision = revisionOf(context, query);
  const initial = isTrue(query, "sendInitialEvents");
  if (initial && query.get("resourceVersionMatch") !== "NotOlderThan") {
    throw wrongMatch(
      "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    );
  }
  if (!query.has("sendInitialEvents") && query.get("resourceVersionMatch")) {
    throw wrongMatch(
      "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
    );
  }
  const unasked = !query.has("sendInitialEvents") && (revision === undefined || revision === 0);
  if (initial || unasked) {
    return { objects: store.list(resource, namespace), changes: [], announced: initial };
  }
  const since = revision === undefined || revision === 0 ? store.revision : revision;
  return { objects: [], changes: store.changesSince(resource, since), announced: false };
}

/** Returns the type of a change for a client that sees only selected objects; undefined if it sees none of it. */
function eventTypeOf(
  change: Change,
  selects: (object: ApiObject) => boolean,
): WatchEvent["type"] | undefined {
  const was = change.previous !== undefined && selects(change.previous);
  const is = change.type !== "DELETED" && selects(change.object);
  if (is) return was ? "MODIFIED" : "ADDED";
  return was ? "DELETED" : undefined;
}

/** Says if a change removes a custom kind. */
function endsService({ type, key, object }: Change, { custom, resource, group }: Resource) {
  return custom && type === "DELETED" && sameKey(key, KEYS.customResourceDefinitions) &&
    object.metadata.name === `${resource}.${group}`;
}

function selectorFor({ resource, namespace, name }: Call, query: URLSearchParams) {
  const selects = selectorOf(query, resource);
  return (object: ApiObject) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    (name === undefined || object.metadata.name === name) &&
    (selects === undefined || selects(object));
}

function bookmark(resource: Resource, revision: number, annotations?: Record<string, string>) {
  const metadata = { resourceVersion: `${revision}`, creationTimestamp: null, annotations };
  return {
    type: "BOOKMARK",
    object: { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata },
  };
}

/**
 * Starts a watch. Throws 400, and 410 if the history does not reach back to the resource version. The
 * stream ends at its timeout, when the client disconnects, when the server closes, when the kind is no
 * longer served, or with an ERROR event when the client is too slow.
 */
export function watchObjects(
  context: Context,
  call: Call,
  query: URLSearchParams,
  present: Present,
): ReadableStream<Uint8Array> {
  const { store, closing } = context;
  const { resource } = call;
  const selects = selectorFor(call, query);
  const start = startOf(context, call, query);
  const allowBookmarks = isTrue(query, "allowWatchBookmarks");
  const seconds = Number(query.get("timeoutSeconds") ?? "") || DEFAULT_TIMEOUT_SECONDS;
  const encoder = new TextEncoder();
  let stop = () => {};
  let ended = false;

  return new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (event: unknown) => {
        if (!ended) controller.enqueue(encoder.encode(`${JSON.stringify(event)}\n`));
      };
      const show = (type: WatchEvent["type"], object: ApiObject) =>
        send({ type, object: present(asServed(context, object, resource), type) });
      const end = (error?: StatusError) => {
        if (ended) return;
        stop();
        if (error) send({ type: "ERROR", object: error.toStatus() });
        else if (allowBookmarks) send(bookmark(resource, store.revision));
        if (ended) return; // Sending may find the client gone, which cancels the stream.
        ended = true;
        controller.close();
      };
      const notify = (change: Change) => {
        if (endsService(change, resource)) return end();
        if (!sameKey(change.key, resource)) return;
        const type = eventTypeOf(change, selects);
        if (!type) return;
        if (-(controller.desiredSize ?? 0) > QUEUE_MAX) {
          return end(expired("the client reads too slowly; list again"));
        }
        const { resourceVersion } = change.object.metadata;
        const object = type === "DELETED" && change.previous
          ? { ...change.previous, metadata: { ...change.previous.metadata, resourceVersion } }
          : change.object;
        show(type, object);
      };
      const sendBookmark = () => allowBookmarks && send(bookmark(resource, store.revision));
      const stops = [
        store.subscribe(notify),
        every(systemClock, BOOKMARK_INTERVAL_MS, sendBookmark),
        after(systemClock, seconds * 1000, end),
      ];
      stop = () => stops.splice(0).forEach((it) => it());
      stops.push(onAbort(closing, end));
      for (const object of start.objects) if (selects(object)) show("ADDED", object);
      if (start.announced) {
        send(bookmark(resource, store.revision, { [INITIAL_EVENTS_END]: "true" }));
      }
      for (const change of start.changes) notify(change);
    },
    cancel: () => {
      // The stream is already closed: an abort in progress must not close it again.
      ended = true;
      stop();
    },
  });
}
