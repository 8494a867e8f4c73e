/** Access to a manager's status port, whatever CA signs its certificate and whatever token is good by then. */
import type { ManagerClient } from "../../views/followed_curves.ts";
import { connectionTo } from "../../platform/kube/connection/kubeconfig.ts";
import {
  createTokenClients,
  type TokenClients,
} from "../../platform/kube/connection/token_clients.ts";

/** Creates it. What `token` and `caBundle` throw, a call throws. */
export function createManagerAccess(
  { url, token, caBundle, proxyUrl }: {
    /** Base URL of the status port. */
    readonly url: string;
    /** A function is called for each request: tokens are renewed. */
    readonly token: string | (() => string | Promise<string>);
    /** Returns the CAs that may have signed its certificate now, PEM. */
    readonly caBundle: () => string;
    /** URL of an HTTP proxy that leads there. Default: none, the URL does. */
    readonly proxyUrl?: string;
  },
) {
  let open: { readonly caPem: string; readonly clients: TokenClients } | undefined;

  /** Calls in hand keep the client that they began with. */
  function clientsNow(): TokenClients {
    const caPem = caBundle();
    if (open?.caPem === caPem) return open.clients;
    open?.clients.close();
    const clients = createTokenClients({
      connection: connectionTo({ server: url, caPem, ...(proxyUrl && { proxyUrl }) }),
    });
    open = { caPem, clients };
    return clients;
  }

  const withToken = (token: () => string | Promise<string>): ManagerClient => ({
    read: async (path, options) => await clientsNow().of(await token()).read(path, options),
    stream: async (path, options) => await clientsNow().of(await token()).stream(path, options),
  });

  return {
    /** With the token of the options. */
    client: withToken(() => typeof token === "string" ? token : token()),
    /** With another token. */
    withToken: (it: string): ManagerClient => withToken(() => it),
    close: (): void => open?.clients.close(),
  };
}

/** The manager as it is reached. */
export type ManagerAccess = ReturnType<typeof createManagerAccess>;
