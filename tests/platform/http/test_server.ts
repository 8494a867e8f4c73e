/** A server on a free loopback port, with the limits of the status endpoint but for what a test says. */
import {
  type ConnectionLimits,
  DEFAULT_SERVER_LIMITS,
  type ServerLimits,
} from "../../../platform/http/limits/server_limits.ts";
import { type Server, type ServerOptions, startServer } from "../../../platform/http/server.ts";
import { systemClock } from "../../../platform/base/clock.ts";

/** Options of {@link startTestServer}. */
export interface TestServerOptions
  extends Pick<ServerOptions, "handle">, Omit<Partial<ServerOptions>, "handle" | "limits"> {
  readonly times?: Partial<Omit<ServerLimits, "connections">>;
  readonly connections?: Partial<ConnectionLimits>;
}

/** Starts it. */
export function startTestServer(options: TestServerOptions): Promise<Server> {
  const { times, connections } = options;
  return startServer({
    name: "test",
    port: 0,
    portSetting: "--port",
    hostname: "127.0.0.1",
    clock: systemClock,
    refusesWhileClosing: true,
    ...options,
    limits: {
      ...DEFAULT_SERVER_LIMITS,
      ...times,
      connections: { ...DEFAULT_SERVER_LIMITS.connections, ...connections },
    },
  });
}
