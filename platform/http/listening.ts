/** Start and graceful end of listening, for every server. */
import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Server } from "node:net";
import { after, type Clock } from "../base/clock.ts";
import { ConfigurationError } from "../kube/errors.ts";

/** Address of a server. */
export interface ListenAddress {
  /** 0 takes a free port. */
  readonly port: number;
  /** Default: all addresses. */
  readonly hostname?: string | undefined;
  /** Setting that chooses the port, for the message when it is taken: `--status-port`, for example. */
  readonly portSetting: string;
}

/** Listens, and returns the port. Throws a {@link ConfigurationError} if the port is taken. */
export function listen(
  server: Server,
  { port, hostname, portSetting }: ListenAddress,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: Error & { code?: string }) => {
      const message = `${portSetting}: port ${port} is taken; choose another`;
      reject(cause.code === "EADDRINUSE" ? new ConfigurationError(message, { cause }) : cause);
    };
    server.once("error", refuse);
    server.listen({ port, host: hostname }, () => {
      server.off("error", refuse);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

/** Bounds of {@link closeWithin}. */
export interface Closing {
  readonly clock: Clock;
  /** Time for the requests in hand, in milliseconds. */
  readonly drainMs: number;
  /** Cuts connections that the server itself does not know, when the time is over. */
  readonly cutRest: () => void;
}

/** Takes no new connections, closes idle ones, and cuts the rest when `drainMs` are over. */
export async function closeWithin(
  server: HttpServer | HttpsServer,
  { clock, drainMs, cutRest }: Closing,
): Promise<void> {
  const done = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const cancel = after(clock, drainMs, () => {
    server.closeAllConnections();
    cutRest();
  });
  await done;
  cancel();
}
