/** Start of the page for one user: its files, this machine's randomness, and who the user is. */
import { assetsOf } from "../../page/server/assets.ts";
import {
  type PageServer,
  type PageServerOptions,
  startPageServer,
} from "../../page/server/page_server.ts";
import { ownName } from "../../page/server/viewer_rights.ts";
import { PAGE_ASSET_LIST } from "../../page/assets/page_assets.ts";

/** Options of {@link startPage}. */
export interface StartPageOptions
  extends Pick<PageServerOptions, "port" | "client" | "clock" | "kinds" | "view" | "manager"> {
  /** URL of the API server. */
  readonly server: string;
  /** The user's name if the API server does not say it. */
  readonly user: string;
}

/** Starts it. Throws a `ConfigurationError` if its port is taken. */
export function startPage({ server, user, ...options }: StartPageOptions): Promise<PageServer> {
  return startPageServer({
    ...options,
    portSetting: "--ui-port",
    assets: assetsOf(PAGE_ASSET_LIST),
    randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
    facts: async (signal) => ({
      user: await ownName(options.client, signal) ?? user,
      server,
      canChange: true,
    }),
  });
}
