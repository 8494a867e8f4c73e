/**
 * Faulty proxy of the API server, on loopback: it terminates TLS with a certificate of the cluster's CA,
 * passes requests on, injects the faults that a test asks for, and records every request.
 */
import type { ControlPlane } from "../control_plane/control_plane.ts";
import { writeKubeconfig } from "../control_plane/kubeconfig.ts";

/** A request that came. */
export interface SeenRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** When it came, by `performance.now()`. */
  readonly atMs: number;
  readonly isWatch: boolean;
}

/** Answers in place of the API server; undefined leaves the request alone. */
export type Fault = (request: SeenRequest) => Response | undefined;

/** The way, while it is open. */
export interface FaultyApi {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  /** Asked for each request; undefined where nothing is wrong. */
  fault: Fault | undefined;
  /** A watch on which nothing ever comes, until it is cut. */
  silence(): Response;
  /** Cuts every watch in the middle. Returns their number. */
  cutWatches(): number;
  /** A kubeconfig that leads through here. */
  kubeconfig(name: string, token: string): Promise<string>;
  close(): Promise<void>;
}

/** Headers that belong to one connection. */
const HOP_BY_HOP = ["connection", "host", "keep-alive", "transfer-encoding", "content-length"];

function passedOn(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of HOP_BY_HOP) kept.delete(name);
  // What the other side packs, `fetch` unpacks.
  kept.delete("accept-encoding");
  kept.delete("content-encoding");
  return kept;
}

/** An error as the API server words it. */
export function statusAnswer(
  code: number,
  reason: string,
  headers: Record<string, string> = {},
): Response {
  const body = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    reason,
    code,
    message: `made by the test: ${reason}`,
  };
  return Response.json(body, { status: code, headers });
}

/** Opens the way. */
export async function startFaultyApi(plane: ControlPlane): Promise<FaultyApi> {
  const { cert, key } = await plane.ca.server("faulty-api", ["127.0.0.1"]);
  const client = Deno.createHttpClient({ caCerts: [plane.ca.cert], http2: false });
  const seen: SeenRequest[] = [];
  const watches = new Set<AbortController>();
  let fault: Fault | undefined;

  async function pass(request: Request, { path, isWatch }: SeenRequest): Promise<Response> {
    const cut = new AbortController();
    const { signal } = cut;
    const body = request.body === null ? undefined : await request.bytes();
    const headers = passedOn(request.headers);
    if (isWatch) watches.add(cut);
    try {
      const answer = await fetch(plane.server + path, {
        method: request.method,
        headers,
        body,
        client,
        signal,
      });
      const through = new TransformStream<Uint8Array, Uint8Array>();
      const done = answer.body?.pipeTo(through.writable, { signal }) ?? through.writable.close();
      done.catch(() => {}).finally(() => watches.delete(cut));
      return new Response(through.readable, {
        status: answer.status,
        headers: passedOn(answer.headers),
      });
    } catch (error) {
      watches.delete(cut);
      throw error;
    }
  }

  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    cert,
    key,
    onListen: () => {},
    // Whom the API server does not answer, nobody answers: the connection breaks.
    onError: () => statusAnswer(502, "BadGateway"),
  }, async (request) => {
    const { pathname, search, searchParams } = new URL(request.url);
    const one: SeenRequest = {
      method: request.method,
      path: pathname + search,
      atMs: performance.now(),
      isWatch: searchParams.has("watch"),
    };
    seen.push(one);
    const spoiled = fault?.(one);
    if (spoiled === undefined) return await pass(request, one);
    await request.body?.cancel();
    return spoiled;
  });
  const url = `https://127.0.0.1:${server.addr.port}`;

  function cutWatches(): number {
    const count = watches.size;
    for (const watch of watches) watch.abort(new Error("cut by the test"));
    return count;
  }

  function silence(): Response {
    const cut = new AbortController();
    watches.add(cut);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        cut.signal.addEventListener("abort", () => {
          watches.delete(cut);
          controller.error(cut.signal.reason);
        });
      },
      cancel: () => void watches.delete(cut),
    });
    return new Response(body);
  }

  return {
    url,
    seen,
    silence,
    get fault() {
      return fault;
    },
    set fault(value) {
      fault = value;
    },
    cutWatches,
    kubeconfig: (name, token) =>
      writeKubeconfig(`${plane.folder}/${name}.kubeconfig`, { url, caPem: plane.ca.cert }, {
        token,
      }),
    async close() {
      cutWatches();
      await server.shutdown();
      client.close();
    },
  };
}
