/** Server of the page on loopback: plain HTTP, for the browsers of who sees what it prints. */
import {
  connectionsInAll,
  DEFAULT_SERVER_LIMITS,
  type ServerLimits,
} from "../../platform/http/limits/server_limits.ts";
import { startServer } from "../../platform/http/server.ts";
import type { PageFacts } from "../../crds/wire/details.ts";
import { ownName } from "../../platform/kube/self_reviews.ts";
import { PAGE_ASSET_LIST } from "../assets/page_assets.ts";
import { type Assets, assetsOf } from "./assets.ts";
import { type BrowserSessions, createBrowserSessions } from "./browser_sessions.ts";
import { createPageHandler, type PageHandlerOptions } from "./page_handler.ts";

const HOST = "127.0.0.1";

/** Connections of browsers on this machine: each has up to six. */
const LIMITS: ServerLimits = { ...DEFAULT_SERVER_LIMITS, connections: connectionsInAll(256) };

/** Starts it. Throws a `ConfigurationError` if its port is taken. */
export async function startPageServer(
  options: Omit<PageHandlerOptions, "host" | "facts" | "assets" | "sessions"> & {
    /** 0: one that is free. */
    readonly port: number;
    /** Default: the page's. */
    readonly assets?: Assets;
    /** Default: new ones. */
    readonly sessions?: BrowserSessions;
    /** URL of the API server. */
    readonly server: string;
    /** The user's name if the API server does not say it. */
    readonly user: string;
    /** Returns what is not shown, and why, as sentences. Default: all is shown. */
    readonly missing?: () => readonly string[];
  },
) {
  const { port, clock, client, server: apiServer, user, missing = () => [] } = options;
  const { assets = assetsOf(PAGE_ASSET_LIST), sessions = createBrowserSessions({ clock }) } =
    options;
  let host = "";
  let name: string | undefined;
  async function facts(signal: AbortSignal): Promise<PageFacts> {
    name ??= await ownName(client, signal);
    return { user: name ?? user, server: apiServer, missing: missing() };
  }
  const server = await startServer({
    name: "page",
    port,
    portSetting: "--ui-port",
    hostname: HOST,
    clock,
    limits: LIMITS,
    handle: createPageHandler({ ...options, assets, sessions, facts, host: () => host }),
  });
  host = `${HOST}:${server.port}`;
  const url = `http://${host}`;
  return {
    /** Its address without a code. */
    url,
    /** Returns the address with a new one-time code. */
    newAddress: (): string => `${url}/#code=${sessions.newCode()}`,
    close: server.close,
  };
}

/** A running server. */
export type PageServer = Awaited<ReturnType<typeof startPageServer>>;
