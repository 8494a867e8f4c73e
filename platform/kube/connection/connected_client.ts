/** Client of the API server of a connection. */
import type { ClientOptions } from "../client.ts";
import { type ClosableClient, createClientOver } from "./http_client.ts";
import { createTransport } from "./transport.ts";

/**
 * A client of the server that the connection names. Throws `ConfigurationError` if the
 * connection cannot work. Call `close` when it is no longer needed.
 */
export function createClient(options: ClientOptions): ClosableClient {
  return createClientOver(createTransport(options.connection), options);
}
