/** Clients of one server for many users, each with a token of its own, over the same connections. */
import type { ClientOptions, KubeClient } from "../client.ts";
import { createClientOver } from "./http_client.ts";
import { withoutUser } from "./kubeconfig.ts";
import { createTransport } from "./transport.ts";

/** Clients by token. */
export type TokenClients = ReturnType<typeof createTokenClients>;

/** Creates them for the connection's server; its own credentials are not used. */
export function createTokenClients(
  { connection, ...options }: Pick<ClientOptions, "connection" | "clock" | "deadlineMs">,
) {
  const transport = createTransport(withoutUser(connection));
  return {
    /** Returns a client that sends this token, and no other credentials. */
    of: (token: string): KubeClient =>
      createClientOver({
        ...transport,
        send: (request, signal) => {
          const headers = { ...request.headers, "Authorization": `Bearer ${token}` };
          return transport.send({ ...request, headers }, signal);
        },
      }, options),
    /** Closes the connections. */
    close: (): void => transport.close(),
  };
}
