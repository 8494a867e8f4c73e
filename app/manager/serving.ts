/** The manager's TLS servers, with certificates that swap without a dropped connection. */
import { createAddressList } from "../../platform/http/limits/address_list.ts";
import { DEFAULT_SERVER_LIMITS } from "../../platform/http/limits/server_limits.ts";
import type { Peers } from "../../platform/http/limits/peers.ts";
import type { HttpHandler } from "../../platform/http/message.ts";
import { type Server, type ServerOptions, startServer } from "../../platform/http/server.ts";
import {
  ADMISSION_SERVER_LIMITS,
  type AdmissionHandlers,
  createAdmissionHttp,
  reservedForApiServers,
} from "../../webhook/admission_http.ts";
import type { ManagerContext, ManagerParts } from "./manager_parts.ts";

/** Options of the servers, which share a budget of the bytes of bodies, and the shedding of load. */
export type ServingParts =
  & Pick<ManagerContext, "configuration" | "clock" | "caps">
  & Pick<ManagerParts, "certificates" | "bodyBudget" | "shedding">;

/** Starts a server that takes new certificates as they come. */
async function serve(
  { configuration: { bindAddress: hostname }, certificates, clock, bodyBudget }: ServingParts,
  options: Omit<ServerOptions, "hostname" | "tls" | "clock" | "bodyBudget">,
): Promise<Server> {
  const tls = certificates.current();
  const server = await startServer({ ...options, hostname, clock, tls, bodyBudget });
  const stop = certificates.onChange(() => server.updateTls(certificates.current()));
  return {
    ...server,
    close: (drainMs) => {
      stop();
      return server.close(drainMs);
    },
  };
}

/** Serves pushes and reads. A stranger is an address from which no pod was proved lately. */
export function serveStatus(
  parts: ServingParts,
  { handler: handle, peers }: { readonly handler: HttpHandler; readonly peers: Peers },
): Promise<Server> {
  const { caps, shedding } = parts;
  return serve(parts, {
    name: "status",
    port: parts.configuration.statusPort,
    portSetting: "--status-port",
    handle,
    limits: {
      ...DEFAULT_SERVER_LIMITS,
      bufferBytes: caps.maxBodyBytes / 2,
      connections: {
        ...DEFAULT_SERVER_LIMITS.connections,
        total: caps.maxConnections,
        perPeer: caps.maxConnectionsPerPeer,
        silent: caps.maxSilentConnections,
      },
    },
    refuses: (peer, nowMs) =>
      peers.refuseConnection(peer, nowMs) ||
      !peers.isProved(peer, nowMs) && shedding.refuses(peer, nowMs),
    refusesWhileClosing: true,
  });
}

/**
 * Serves admission. A stranger is an address that is not an API server's; without a setting that names
 * those, nobody is.
 */
export function serveAdmission(parts: ServingParts, handlers: AdmissionHandlers): Promise<Server> {
  const { caps, shedding, configuration: { apiServerAddresses } } = parts;
  const isReserved = createAddressList(apiServerAddresses);
  const apiServersAreNamed = apiServerAddresses.length > 0;
  return serve(parts, {
    name: "webhook",
    port: parts.configuration.webhookPort,
    portSetting: "--webhook-port",
    handle: createAdmissionHttp(handlers, parts.clock, { isReserved }),
    reserved: reservedForApiServers(isReserved),
    refuses: (peer, nowMs) =>
      apiServersAreNamed && !isReserved(peer) && shedding.refuses(peer, nowMs),
    limits: {
      ...ADMISSION_SERVER_LIMITS,
      bufferBytes: caps.maxBodyBytes / 4,
      connections: {
        ...ADMISSION_SERVER_LIMITS.connections,
        total: caps.maxWebhookConnections,
        perPeer: caps.maxWebhookConnectionsPerPeer,
        silent: caps.maxSilentConnections,
      },
    },
  });
}
