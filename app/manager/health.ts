/** `/healthz`, `/readyz` and `/metrics`, by the runtime's own HTTP server. */
import type { Registry } from "prom-client";
import { ConfigurationError } from "../../kube/errors.ts";

/** A condition of readiness, by a name that tells an operator where to look. */
export interface ReadinessCheck {
  name: string;
  ready: () => boolean;
}

/** A server that is listening. */
export interface PlainServer {
  readonly port: number;
  close(): Promise<void>;
}

interface ListenOptions {
  port: number;
  hostname: string;
}

const text = (status: number, body: string) =>
  new Response(`${body}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8" } });

/** Serves on a port. Throws a ConfigurationError where it is taken. */
function serve(
  what: string,
  { port, hostname }: ListenOptions,
  handler: (request: Request) => Response | Promise<Response>,
): PlainServer {
  try {
    const server = Deno.serve({ port, hostname, onListen: () => {} }, handler);
    return { port: server.addr.port, close: () => server.shutdown() };
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) {
      throw new ConfigurationError(`port ${port} for ${what} is taken; choose another`, {
        cause: error,
      });
    }
    throw error;
  }
}

/** Liveness and readiness; `/readyz` names what is not ready. */
export function startHealthServer(
  options: ListenOptions & { checks: readonly ReadinessCheck[] },
): PlainServer {
  return serve("health (--health-port)", options, (request) => {
    const path = new URL(request.url).pathname;
    if (path === "/healthz") return text(200, "ok");
    if (path !== "/readyz") return text(404, "there is /healthz and /readyz");
    const missing = options.checks.filter((it) => !it.ready()).map((it) => it.name);
    return missing.length === 0 ? text(200, "ok") : text(503, `not ready: ${missing.join(", ")}`);
  });
}

/** The series in Prometheus' text format. `refresh` runs before each read. */
export function startMetricsServer(
  options: ListenOptions & { registry: Registry; refresh: () => void },
): PlainServer {
  return serve("metrics (--metrics-port)", options, async (request) => {
    if (new URL(request.url).pathname !== "/metrics") return text(404, "there is /metrics");
    options.refresh();
    return new Response(await options.registry.metrics(), {
      headers: { "content-type": options.registry.contentType },
    });
  });
}
