/** API server of the smallest kind, whose namespaces have as many large objects of every kind as a tenant may make. */
import { asObject, jsonOfBytes, textAt } from "../../platform/base/json.ts";

/** What it has. */
export interface LargeObjects {
  /** Objects of each kind, in each namespace whose name begins with `tenant`; in others there is one. */
  readonly objects: number;
  /** Of each, about. */
  readonly bytes: number;
  /** Default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

const encoder = new TextEncoder();

/** An object of any kind, with texts as long as they may be. */
const objectOf = (namespace: string, name: string, filler: string) => ({
  metadata: {
    name,
    namespace,
    uid: `uid-${name}`,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { "katib.kubeflow.org/experiment": "search" },
  },
  spec: {
    runtimeRef: { name: "torch" },
    containers: [{ name: "node", env: [{ name: "LARGE", value: filler }] }],
    trainer: { env: [{ name: "LARGE", value: filler.slice(0, filler.length / 2) + name }] },
    parameterAssignments: [{ name: "lr", value: filler.slice(0, filler.length / 2) }],
  },
  status: { phase: "Running" },
});

/** A page of a list, made as it is read: what the server has of it must not count for the reader. */
function listBody(item: Uint8Array, count: number, metadata: object): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (next === 0) {
        const head = JSON.stringify({ metadata }).slice(0, -1);
        controller.enqueue(encoder.encode(`${head},"items":[`));
      }
      if (next < count) {
        if (next > 0) controller.enqueue(encoder.encode(","));
        controller.enqueue(item);
      } else {
        controller.enqueue(encoder.encode("]}"));
        controller.close();
      }
      next++;
    },
  }, { highWaterMark: 0 });
}

/** Answers a review: every token is good, and is the name of its user, who may do everything. */
function reviewed(review: unknown): Response {
  const token = textAt(review, "spec", "token");
  const status = token === undefined
    ? { allowed: true }
    : { authenticated: true, user: { username: token } };
  return Response.json({ ...asObject(review), status });
}

/** Starts it on a free port of loopback. */
export function startLargeObjects({ objects, bytes, tls }: LargeObjects) {
  const filler = "x".repeat(bytes);
  const large = encoder.encode(JSON.stringify(objectOf("tenant", "large", filler)));
  const small = encoder.encode(JSON.stringify(objectOf("team", "small", "x")));
  const { metadata } = objectOf("tenant", "large", "");
  const metadataAlone = encoder.encode(JSON.stringify({ metadata }));
  const isOfTenant = (path: string) => path.includes("/namespaces/tenant");

  async function answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith("reviews")) return reviewed(jsonOfBytes(await request.bytes()));
    if (searchParams.get("watch") === "true") return new Response(new ReadableStream());
    const last = pathname.split("/").at(-1) ?? "";
    if (["job", "search"].includes(last)) {
      const namespace = isOfTenant(pathname) ? "tenant" : "team";
      return Response.json(objectOf(namespace, last, isOfTenant(pathname) ? filler : "x"));
    }
    const isEverywhere = !pathname.includes("/namespaces/");
    const all = isOfTenant(pathname) || isEverywhere && searchParams.has("labelSelector")
      ? objects
      : 1;
    const from = Number(searchParams.get("continue") ?? 0);
    const until = Math.min(all, from + Number(searchParams.get("limit") ?? all));
    const isMetadata = request.headers.get("accept")?.includes("PartialObjectMetadata") ?? false;
    const item = isMetadata ? metadataAlone : all > 1 ? large : small;
    const body = listBody(item, until - from, {
      resourceVersion: "1",
      ...(until < all && { continue: `${until}` }),
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {}, ...tls }, answer);
  const scheme = tls === undefined ? "http" : "https";
  return {
    url: `${scheme}://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
