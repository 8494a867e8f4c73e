/** In-memory API server behind HTTPS, with a client for its tests. */
import assert from "node:assert/strict";
import {
  type ApiServer,
  type ApiServerOptions,
  startApiServer,
} from "../../../standalone/apiserver/api_server.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";

/** JSON as it comes back; tests compare it whole or by path. */
// deno-lint-ignore no-explicit-any
export type Answer = any;

export interface Reply {
  status: number;
  body: Answer;
  headers: Headers;
}

export interface RequestOptions {
  body?: unknown;
  type?: string;
  accept?: string;
  token?: string;
}

/** A line of a watch. */
export interface Line {
  type: string;
  object: Answer;
}

export class TestServer implements AsyncDisposable {
  readonly client: Deno.HttpClient;

  constructor(readonly server: ApiServer) {
    this.client = Deno.createHttpClient({ caCerts: [server.caCertificate] });
  }

  open(method: string, path: string, options: RequestOptions & { signal?: AbortSignal } = {}) {
    const { body, type, accept, signal, token = this.server.adminToken } = options;
    return fetch(this.server.url + path, {
      method,
      client: this.client,
      signal,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": type ?? "application/json" }),
        ...(accept && { accept }),
      },
      body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
    });
  }

  async call(method: string, path: string, options: RequestOptions = {}): Promise<Reply> {
    const response = await this.open(method, path, options);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    return {
      status: response.status,
      body: isJson && text ? JSON.parse(text) : text,
      headers: response.headers,
    };
  }

  /** The body of an answer that must be a success. */
  async ok(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const reply = await this.call(method, path, options);
    assert.ok(
      reply.status < 300,
      `${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`,
    );
    return reply.body;
  }

  /** Reads a watch until it has `count` lines, or, without a count, until it ends. */
  async watch(path: string, count = Infinity, onOpen?: () => Promise<unknown>): Promise<Line[]> {
    const abort = new AbortController();
    const response = await this.open("GET", path, { signal: abort.signal });
    assert.equal(response.status, 200, path);
    const lines: Line[] = [];
    const acting = onOpen?.();
    let rest = "";
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    while (lines.length < count) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop() ?? "";
      lines.push(...parts.map((part) => JSON.parse(part)));
    }
    await acting;
    await reader.cancel();
    abort.abort();
    return lines;
  }

  /** Asks again until the answer is right; throws after ten seconds. */
  async until(path: string, right: (reply: Reply) => boolean): Promise<Reply> {
    const end = performance.now() + 10_000;
    for (;;) {
      const reply = await this.call("GET", path);
      if (right(reply)) return reply;
      if (performance.now() > end) {
        throw new Error(`waited in vain for ${path}: ${JSON.stringify(reply.body)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async [Symbol.asyncDispose]() {
    this.client.close();
    await this.server.close();
  }
}

/** A server in memory, on a free port. */
export async function testServer(options: Partial<ApiServerOptions> = {}): Promise<TestServer> {
  return new TestServer(
    await startApiServer({
      port: 0,
      hostname: "127.0.0.1",
      signingKey: SIGNING_KEY,
      ...options,
    }),
  );
}

export const PODS = "/api/v1/namespaces/default/pods";
export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

export function pod(name: string, extra: Record<string, unknown> = {}) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ...(extra.metadata ?? {}) },
    spec: { containers: [{ name: "c", image: "i" }], ...(extra.spec ?? {}) },
  };
}

export function configMap(name: string, metadata: Record<string, unknown> = {}) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data: { a: "1" } };
}

/** A definition of `widgets.example.com` with status, scale, columns and two versions. */
export function widgetDefinition() {
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            size: { type: "integer", minimum: 1, default: 3 },
            replicas: { type: "integer" },
          },
        },
        status: {
          type: "object",
          properties: {
            replicas: { type: "integer" },
            conditions: {
              type: "array",
              items: {
                type: "object",
                properties: { type: { type: "string" }, status: { type: "string" } },
              },
            },
          },
        },
      },
    },
  };
  const version = (name: string, storage: boolean) => ({
    name,
    served: true,
    storage,
    schema,
    subresources: {
      status: {},
      scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
    },
    additionalPrinterColumns: [
      { name: "Size", type: "integer", jsonPath: ".spec.size" },
      {
        name: "Done",
        type: "string",
        jsonPath: '.status.conditions[?(@.type=="Completed")].status',
      },
      { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    ],
  });
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [version("v1", true), version("v1beta1", false)],
    },
  };
}

export const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets";

export function widget(name: string, spec: Record<string, unknown> = {}) {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name }, spec };
}
