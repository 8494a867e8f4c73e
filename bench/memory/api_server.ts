/**
 * Fake API server in memory for a manager with any number of TrainJobs: it makes 10,000 in seconds, for
 * which etcd needs minutes. It does not validate requests.
 */
import {
  KATIB_GROUP_PATH,
  listOf,
  pathOf,
  type Place,
  statusOf,
  type Stored,
} from "./api_objects.ts";

/** A server that runs. */
export interface MemoryApiServer {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  stop(): Promise<void>;
}

const json = (value: unknown, status = 200) => Response.json(value, { status });

/** A watch on which nothing ever happens. */
function silentWatch(signal: AbortSignal): Response {
  let end: (() => void) | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      end = () => controller.close();
      signal.addEventListener("abort", end, { once: true });
    },
    cancel() {
      if (end !== undefined) signal.removeEventListener("abort", end);
    },
  });
  return new Response(body, { headers: { "content-type": "application/json" } });
}

/** Issuer and keys of tokens, by path: there are no tokens here, but a manager waits for the keys. */
async function tokenKeysByPath(): Promise<Record<string, unknown>> {
  const usages: KeyUsage[] = ["sign", "verify"];
  const pair = await crypto.subtle.generateKey(
    { name: "ECDSA", namedCurve: "P-256" },
    false,
    usages,
  );
  const key = await crypto.subtle.exportKey("jwk", pair.publicKey);
  return {
    "/.well-known/openid-configuration": {
      issuer: "https://kubernetes.default.svc.cluster.local",
      jwks_uri: "https://127.0.0.1/openid/v1/jwks",
      id_token_signing_alg_values_supported: ["ES256"],
    },
    "/openid/v1/jwks": { keys: [{ ...key, kid: "bench", alg: "ES256", use: "sig" }] },
  };
}

/** Starts one; `many` gives the objects of a plural that there are from the start. */
export async function startMemoryApiServer(
  many: Readonly<Record<string, readonly Stored[]>>,
): Promise<MemoryApiServer> {
  const tokenKeys = await tokenKeysByPath();
  const written = new Map<string, Stored>();
  const stop = new AbortController();
  let version = 1_000_000;

  function write(place: Place, key: string, given: Stored): Stored {
    const before = written.get(key);
    const metadata = {
      uid: crypto.randomUUID(),
      ...before?.metadata,
      ...given.metadata,
      resourceVersion: String(version++),
      ...(place.namespace === undefined ? {} : { namespace: place.namespace }),
    };
    const after = { ...before, ...given, metadata };
    written.set(key, after);
    return after;
  }

  async function change(place: Place, request: Request): Promise<Response> {
    const given: Stored = await request.json();
    const name = place.name ?? given.metadata?.name ?? crypto.randomUUID();
    return json(write(place, `${place.collection}/${name}`, given), place.name ? 200 : 201);
  }

  function listed(place: Place, query: URLSearchParams): Response {
    const own = [...written].filter(([key]) => key.startsWith(`${place.collection}/`));
    const all = many[place.plural] ?? own.map(([, object]) => object);
    return json(listOf(all, query, version));
  }

  function answer(request: Request): Response | Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname in tokenKeys) return json(tokenKeys[pathname]);
    const place = pathOf(pathname);
    if (place === undefined || pathname.startsWith(KATIB_GROUP_PATH)) return statusOf(404);
    if (searchParams.get("watch") === "true") return silentWatch(stop.signal);
    if (request.method !== "GET") return change(place, request);
    if (place.name === undefined) return listed(place, searchParams);
    const found = written.get(`${place.collection}/${place.name}`);
    return found === undefined ? statusOf(404) : json(found);
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    async stop() {
      stop.abort();
      await server.shutdown();
    },
  };
}
