/** Server of the page on loopback: plain HTTP, for the browsers of who sees what it prints. */
import {
  connectionsInAll,
  DEFAULT_SERVER_LIMITS,
  type ServerLimits,
} from "../../platform/http/limits/server_limits.ts";
import { startServer } from "../../platform/http/server.ts";
import type { BrowserSessions } from "./browser_sessions.ts";
import { createPageHandler, type PageHandlerOptions } from "./page_handler.ts";

const HOST = "127.0.0.1";

/** Connections of browsers on this machine: each has up to six. */
const LIMITS: ServerLimits = { ...DEFAULT_SERVER_LIMITS, connections: connectionsInAll(256) };

/** Options of {@link startPageServer}. */
export interface PageServerOptions extends Omit<PageHandlerOptions, "host"> {
  /** 0: one that is free. */
  readonly port: number;
  /** The setting that chooses the port, for messages. */
  readonly portSetting: string;
  readonly sessions: BrowserSessions;
}

/** A running server. */
export interface PageServer {
  /** Its address without a code. */
  readonly url: string;
  /** Returns the address with a new one-time code. */
  newAddress(): string;
  close(drainMs: number): Promise<void>;
}

/** Starts it. Throws a `ConfigurationError` if its port is taken. */
export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const { port, portSetting, clock, sessions } = options;
  let host = "";
  const server = await startServer({
    name: "page",
    port,
    portSetting,
    hostname: HOST,
    clock,
    limits: LIMITS,
    handle: createPageHandler({ ...options, host: () => host }),
  });
  host = `${HOST}:${server.port}`;
  const url = `http://${host}`;
  return {
    url,
    newAddress: () => `${url}/#code=${sessions.newCode()}`,
    close: server.close,
  };
}
