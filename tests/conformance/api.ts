/** Sandbox of a conformance case: a server, a namespace, and its clean-up. */
import assert from "node:assert/strict";
import { until } from "../support/until.ts";
import type { Connections, Target } from "./connections.ts";

/** JSON as it comes back; cases compare it whole or by path. */
// deno-lint-ignore no-explicit-any
export type Answer = any;

/** An answer of the server. */
export interface Reply {
  readonly status: number;
  readonly body: Answer;
  readonly headers: Headers;
}

/** Parts of a request. */
export interface RequestOptions {
  readonly body?: unknown;
  readonly type?: string;
  readonly accept?: string;
  /** Another bearer token than the administrator's; "" sends none. */
  readonly token?: string;
  /** Another user, whom the administrator impersonates. */
  readonly as?: { readonly user: string; readonly groups?: readonly string[] };
  readonly signal?: AbortSignal;
}

/** A line of a watch. */
export interface Line {
  readonly type: string;
  readonly object: Answer;
}

export const MERGE = "application/merge-patch+json";
export const STRATEGIC = "application/strategic-merge-patch+json";
export const JSON_PATCH = "application/json-patch+json";

/** Every request must be answered by then, in milliseconds. */
const DEADLINE_MS = 30_000;

function headersOf({ token: own }: Target, options: RequestOptions): Headers {
  const headers = new Headers();
  const { token = own, as, body, type, accept } = options;
  if (token) headers.set("authorization", `Bearer ${token}`);
  if (as) headers.set("impersonate-user", as.user);
  for (const group of as?.groups ?? []) headers.append("impersonate-group", group);
  if (body !== undefined) headers.set("content-type", type ?? "application/json");
  if (accept) headers.set("accept", accept);
  return headers;
}

/** One case's view of a server. Paths without a leading slash are in the case's own namespace. */
export class Sandbox {
  readonly #cleanups: string[] = [];

  /** `id` is no other case's: for the namespace, and for what has none. */
  constructor(readonly connections: Connections, readonly id: string) {}

  get ns(): string {
    return this.id;
  }

  /** `pods/a` and `batch/v1/jobs/a` in the case's namespace; other paths begin with a slash. */
  path(path: string): string {
    if (path.startsWith("/")) return path;
    const [, group, rest = path] = /^([a-z0-9.-]+\/v[0-9][a-z0-9]*)\/(.*)$/.exec(path) ?? [];
    return `/${group ? `apis/${group}` : "api/v1"}/namespaces/${this.ns}/${rest}`;
  }

  open(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const { target, admin, others } = this.connections;
    const { body, token, signal } = options;
    return fetch(target.url + this.path(path), {
      method,
      client: token === undefined ? admin : others,
      signal: signal ?? AbortSignal.timeout(DEADLINE_MS),
      headers: headersOf(target, options),
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
    });
  }

  async call(method: string, path: string, options: RequestOptions = {}): Promise<Reply> {
    const response = await this.open(method, path, options);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    const body = isJson && text !== "" ? JSON.parse(text) : text;
    return { status: response.status, body, headers: response.headers };
  }

  /** The body of an answer that must be a success. */
  async ok(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { status, body } = await this.call(method, path, options);
    assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** The `Status` of a request that must be refused with this code. */
  async refused(
    code: number,
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const { status, body } = await this.call(method, path, options);
    assert.equal(status, code, `${method} ${path}: ${status} ${JSON.stringify(body)}`);
    assert.equal(body.kind, "Status");
    assert.equal(body.status, "Failure");
    assert.equal(body.code, code);
    return body;
  }

  get(path: string, options?: RequestOptions): Promise<Answer> {
    return this.ok("GET", path, options);
  }

  create(path: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.ok("POST", path, { ...options, body });
  }

  put(path: string, body: unknown): Promise<Answer> {
    return this.ok("PUT", path, { body });
  }

  merge(path: string, body: unknown): Promise<Answer> {
    return this.ok("PATCH", path, { body, type: MERGE });
  }

  strategic(path: string, body: unknown): Promise<Answer> {
    return this.ok("PATCH", path, { body, type: STRATEGIC });
  }

  json(path: string, operations: readonly unknown[]): Promise<Answer> {
    return this.ok("PATCH", path, { body: operations, type: JSON_PATCH });
  }

  remove(path: string, body?: unknown): Promise<Answer> {
    return this.ok("DELETE", path, { body });
  }

  /** Deletes a path when the case ends; for what lies outside of its namespace. */
  later(path: string): void {
    this.#cleanups.unshift(path);
  }

  /** Creates an object of the cluster, which goes when the case ends. */
  async createCluster(path: string, body: Answer): Promise<Answer> {
    const made = await this.create(path, body);
    this.later(`${path}/${made.metadata.name}`);
    return made;
  }

  /**
   * Reads a watch until `enough` lines, or lines of which `enough` says so, or its end; `onOpen`
   * acts once the server has answered.
   */
  async watch(
    path: string,
    enough: number | ((lines: readonly Line[]) => boolean) = Infinity,
    onOpen?: () => Promise<unknown>,
  ): Promise<Line[]> {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new Error(`watch ${path} is late`)), DEADLINE_MS);
    const lines: Line[] = [];
    const done = () => typeof enough === "number" ? lines.length >= enough : enough(lines);
    try {
      const response = await this.open("GET", path, { signal: abort.signal });
      assert.equal(response.status, 200, `${path}: ${response.status}`);
      assert.ok(response.body);
      const acting = onOpen?.();
      acting?.catch((error) => abort.abort(error));
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      while (!done()) {
        const part = await reader.read();
        if (part.done) break;
        const parts = (rest + part.value).split("\n");
        rest = parts.pop() ?? "";
        lines.push(...parts.map((line) => JSON.parse(line)));
      }
      await acting;
      await reader.cancel();
    } finally {
      clearTimeout(timer);
      abort.abort();
    }
    return lines;
  }

  /** Asks again until the answer is right, and returns it. */
  until(what: string, path: string, right: (reply: Reply) => boolean): Promise<Reply> {
    return until(what, async () => {
      const reply = await this.call("GET", path);
      return right(reply) ? reply : undefined;
    }, { everyMs: 25 });
  }

  /** Waits until an object is no more. */
  async gone(path: string): Promise<void> {
    await this.until(`${path} to go`, path, ({ status }) => status === 404);
  }

  /** Makes the namespace and waits until pods can be made in it. */
  async setUp(): Promise<void> {
    const metadata = { name: this.ns };
    await this.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
    const account = "serviceaccounts/default";
    await this.until("the default service account", account, ({ status }) => status === 200);
  }

  /** Deletes what the case has left outside of its namespace, which the runner deletes. */
  async tearDown(): Promise<void> {
    for (const path of this.#cleanups) {
      const { status, body } = await this.call("DELETE", path);
      assert.ok(status < 300 || status === 404 || status === 409, JSON.stringify(body));
    }
  }
}

/** One behaviour of the API. */
export interface Case {
  /** A sentence. */
  readonly name: string;
  /** Why one of the servers need not pass; listed in docs/reference/standalone.md. */
  readonly skip?: { readonly embedded?: string; readonly real?: string };
  run(api: Sandbox): Promise<void>;
}
