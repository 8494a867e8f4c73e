/** Fake API server of one kind, in memory, that misbehaves on demand. */
import { connectionTo } from "../../../platform/kube/connection/kubeconfig.ts";
import type { Connection } from "../../../platform/kube/connection/connection.ts";
import { keyOf, type Kind, type KubeObject } from "../../../platform/kube/resource.ts";

/** The one kind that the server has. */
export interface Widget extends KubeObject {
  spec?: { color?: string; broken?: boolean };
}

/** Widgets; one whose spec says `broken` cannot be read. */
export const WIDGET: Kind<Widget> = {
  group: "test.example",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
  parse(value) {
    if (typeof value !== "object" || value === null) throw new Error("not an object");
    const widget: Widget = value;
    if (widget.apiVersion !== "test.example/v1") throw new Error("no apiVersion");
    if (widget.spec?.broken) throw new Error("a broken widget");
    return widget;
  },
};

/** A widget of namespace `ns`. */
export function widget(
  name: string,
  color = "red",
  more: Partial<Widget["metadata"]> = {},
): Widget {
  return { metadata: { name, namespace: "ns", ...more }, spec: { color } };
}

interface LoggedEvent {
  readonly rv: number;
  readonly type: string;
  readonly object: unknown;
}

/** Fault with which the server meets the next request. */
export type Fault = (request: Request) => Response | Promise<Response>;

const encoder = new TextEncoder();

function status(code: number, reason: string, message: string): Record<string, unknown> {
  return { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message };
}

/** A refusal as the API server makes them. */
export function refusal(
  code: number,
  reason: string,
  message = "no",
  headers: Record<string, string> = {},
): Response {
  return Response.json(status(code, reason, message), { status: code, headers });
}

/** Serves lists and watches of {@link WIDGET}, on a free port of this machine. */
export class FakeApiServer implements AsyncDisposable {
  readonly requests: URL[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #objects = new Map<string, Widget>();
  readonly #watches = new Set<ReadableStreamDefaultController<Uint8Array>>();
  readonly #faults: Fault[] = [];
  #log: LoggedEvent[] = [];
  #rv = 100;
  #oldest = 0;
  #uid = 0;

  constructor() {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#handle(request),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  get connection(): Connection {
    return connectionTo({ server: this.url, token: "secret-token" });
  }

  /** Watches that are open. */
  get watches(): number {
    return this.#watches.size;
  }

  get resourceVersion(): string {
    return String(this.#rv);
  }

  lists(): URL[] {
    return this.requests.filter((url) => !url.searchParams.has("watch"));
  }

  watchRequests(): URL[] {
    return this.requests.filter((url) => url.searchParams.has("watch"));
  }

  /** Creates or changes an object. */
  put(given: Widget): Widget {
    const key = keyOf(given);
    const old = this.#objects.get(key);
    const metadata = {
      ...given.metadata,
      uid: old?.metadata?.uid ?? `uid-${++this.#uid}`,
      resourceVersion: String(++this.#rv),
    };
    const object = { ...given, metadata };
    this.#objects.set(key, object);
    this.#tell(old ? "MODIFIED" : "ADDED", object);
    return object;
  }

  remove(key: string): void {
    const old = this.#objects.get(key);
    if (old === undefined) throw new Error(`no ${key}`);
    this.#objects.delete(key);
    this.#tell("DELETED", {
      ...old,
      metadata: { ...old.metadata, resourceVersion: String(++this.#rv) },
    });
  }

  bookmark(): void {
    const metadata = { resourceVersion: String(++this.#rv) };
    this.write(JSON.stringify({ type: "BOOKMARK", object: { metadata } }) + "\n");
  }

  /** Forgets the past: a watch from before gets 410. */
  compact(): void {
    this.#oldest = ++this.#rv;
    this.#log = [];
  }

  /** Writes text into every open watch. */
  write(text: string): void {
    for (const watch of this.#watches) watch.enqueue(encoder.encode(text));
  }

  /** Tells every open watch that its version is too old. */
  expireWatches(): void {
    const event = { type: "ERROR", object: status(410, "Expired", "too old resource version") };
    this.write(JSON.stringify(event) + "\n");
    this.endWatches();
  }

  endWatches(): void {
    for (const watch of this.#watches) watch.close();
    this.#watches.clear();
  }

  /** Breaks every open watch as a lost connection does. */
  breakWatches(): void {
    for (const watch of this.#watches) watch.error(new Error("broken by the test"));
    this.#watches.clear();
  }

  /** The next request is answered by `fault`. */
  failNext(fault: Fault, times = 1): void {
    for (let time = 0; time < times; time++) this.#faults.push(fault);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.endWatches();
    await this.#server.shutdown();
  }

  #tell(type: string, object: Widget): void {
    const event = { rv: this.#rv, type, object: this.#typed(object) };
    this.#log.push(event);
    this.write(this.#line(event));
  }

  #typed(object: Widget): Widget {
    return { apiVersion: "test.example/v1", kind: "Widget", ...object };
  }

  #line(event: LoggedEvent): string {
    return JSON.stringify({ type: event.type, object: event.object }) + "\n";
  }

  #handle(request: Request): Response | Promise<Response> {
    const url = new URL(request.url);
    this.requests.push(url);
    const fault = this.#faults.shift();
    if (fault !== undefined) return fault(request);
    return url.searchParams.has("watch") ? this.#watch(url) : this.#list(url);
  }

  #list(url: URL): Response {
    const limit = Number(url.searchParams.get("limit") ?? Infinity);
    const [version, from] = (url.searchParams.get("continue") ?? `${this.#rv}:0`).split(":");
    if (Number(version) < this.#oldest) return refusal(410, "Expired", "continue is too old");
    const start = Number(from);
    const [, namespace] = /\/namespaces\/([^/]+)\//.exec(url.pathname) ?? [];
    const all = [...this.#objects.values()].filter(({ metadata }) =>
      namespace === undefined || metadata?.namespace === namespace
    );
    const end = start + limit;
    const more = end < all.length ? `${version}:${end}` : undefined;
    const metadata = { resourceVersion: version, continue: more };
    return Response.json({
      kind: "WidgetList",
      apiVersion: "test.example/v1",
      metadata,
      items: all.slice(start, end),
    });
  }

  #watch(url: URL): Response {
    const from = Number(url.searchParams.get("resourceVersion"));
    if (from < this.#oldest) return refusal(410, "Expired", "too old resource version");
    let own: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        own = controller;
        this.#watches.add(controller);
        for (const event of this.#log) {
          if (event.rv > from) controller.enqueue(encoder.encode(this.#line(event)));
        }
      },
      cancel: () => {
        if (own) this.#watches.delete(own);
      },
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  }
}
