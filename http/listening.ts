/** How a TLS server of this room begins to listen, and how it ends: the endpoint's, and that of replicas. */
import type { Server } from "node:https";
import type { Clock } from "../kube/clock.ts";

/** Listens, and answers the port that was taken. Throws where it cannot be had. 0 takes a free one. */
export function listen(
  server: Server,
  port: number,
  hostname: string | undefined,
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: hostname }, () => {
      server.off("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

/** Bounds of {@link closeWithin}. */
export interface Closing {
  readonly clock: Clock;
  /** How long what is in hand may take, in milliseconds. */
  readonly drainMs: number;
  /** Cuts what the server itself does not know of, when the time is over. */
  readonly cutRest?: () => void;
}

/** Takes no new connections, closes idle ones, and cuts the rest when `drainMs` are over. */
export async function closeWithin(
  server: Server,
  { clock, drainMs, cutRest }: Closing,
): Promise<void> {
  const closed = new AbortController();
  const done = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const cut = clock.sleep(drainMs, closed.signal).then(() => {
    if (closed.signal.aborted) return;
    server.closeAllConnections();
    cutRest?.();
  });
  await done;
  closed.abort();
  await cut;
}
