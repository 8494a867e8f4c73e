/** Start of the page for one user: its files, its sessions, and who the user is. */
import { PAGE_ASSET_LIST } from "../../page/assets/page_assets.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { assetsOf } from "../../page/server/assets.ts";
import { type BrowserSessions, createBrowserSessions } from "../../page/server/browser_sessions.ts";
import {
  type PageServer,
  type PageServerOptions,
  startPageServer,
} from "../../page/server/page_server.ts";
import { ownName } from "../../platform/kube/self_reviews.ts";

/** Options of {@link startPage}. */
export interface StartPageOptions
  extends Pick<PageServerOptions, "port" | "client" | "clock" | "kinds" | "view" | "manager"> {
  /** URL of the API server. */
  readonly server: string;
  /** The user's name if the API server does not say it. */
  readonly user: string;
  /** Default: new ones. */
  readonly sessions?: BrowserSessions;
  /** Returns what is not shown, and why, as sentences. */
  readonly missing?: () => readonly string[];
}

/** Creates sessions with this machine's randomness. */
export const createSessions = (clock: Pick<Clock, "monotonic">): BrowserSessions =>
  createBrowserSessions({
    clock,
    randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  });

/** Starts it. Throws a `ConfigurationError` if its port is taken. */
export function startPage(
  { server, user, missing = () => [], sessions, ...options }: StartPageOptions,
): Promise<PageServer> {
  let name: string | undefined;
  return startPageServer({
    ...options,
    portSetting: "--ui-port",
    assets: assetsOf(PAGE_ASSET_LIST),
    sessions: sessions ?? createSessions(options.clock),
    facts: async (signal) => {
      name ??= await ownName(options.client, signal);
      return { user: name ?? user, server, canChange: true, missing: missing() };
    },
  });
}
