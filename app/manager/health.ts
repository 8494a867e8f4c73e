/** Plain HTTP servers for `/healthz` and `/readyz`, and for `/metrics`. */
import type { Registry } from "prom-client";
import {
  connectionLimits,
  DEFAULT_SERVER_LIMITS,
  type ServerLimits,
} from "../../platform/http/limits/server_limits.ts";
import { pathOf } from "../../platform/http/routes.ts";
import type { HttpResponse } from "../../platform/http/message.ts";
import { type Server, startServer } from "../../platform/http/server.ts";
import type { Clock } from "../../platform/base/clock.ts";

/** A condition of readiness, by a name that shows an operator where to look. */
export interface ReadinessCheck {
  name: string;
  ready: () => boolean;
}

interface ListenOptions {
  readonly port: number;
  readonly hostname: string;
  readonly clock: Clock;
}

/** Limits of each of these servers: its clients are the node's kubelet, and Prometheus. */
const LIMITS: ServerLimits = { ...DEFAULT_SERVER_LIMITS, connections: connectionLimits(500, 50) };

const text = (status: number, body: string): HttpResponse => ({
  status,
  headers: { "Content-Type": "text/plain; charset=utf-8" },
  body: `${body}\n`,
});

/** Serves liveness and readiness; `/readyz` names what is not ready. */
export function startHealthServer(
  { checks, ...listening }: ListenOptions & { readonly checks: readonly ReadinessCheck[] },
): Promise<Server> {
  function respond(path: string): HttpResponse {
    if (path === "/healthz") return text(200, "ok");
    if (path !== "/readyz") return text(404, "there is /healthz and /readyz");
    const missing = checks.filter((it) => !it.ready()).map((it) => it.name);
    return missing.length === 0 ? text(200, "ok") : text(503, `not ready: ${missing.join(", ")}`);
  }
  return startServer({
    ...listening,
    name: "health",
    portSetting: "--health-port",
    limits: LIMITS,
    handle: ({ url }) => Promise.resolve(respond(pathOf(url))),
  });
}

/** Serves the series in Prometheus' text format. `refresh` runs before each read. */
export function startMetricsServer(
  { registry, refresh, ...listening }: ListenOptions & {
    readonly registry: Registry;
    readonly refresh: () => void;
  },
): Promise<Server> {
  return startServer({
    ...listening,
    name: "metrics",
    portSetting: "--metrics-port",
    limits: LIMITS,
    handle: async ({ url }) => {
      if (pathOf(url) !== "/metrics") return text(404, "there is /metrics");
      refresh();
      const headers = { "Content-Type": registry.contentType };
      return { status: 200, headers, body: await registry.metrics() };
    },
  });
}
