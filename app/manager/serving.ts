/** The manager's TLS servers, with certificates that swap without a dropped connection. */
import { createAddressList } from "../../http/limits/address_list.ts";
import { DEFAULT_SERVER_LIMITS } from "../../http/limits/server_limits.ts";
import type { ServingCaps } from "../../http/limits/serving_caps.ts";
import type { FairShare } from "../../http/limits/fair_share.ts";
import { type Server, type ServerOptions, startServer } from "../../http/server.ts";
import type { Clock } from "../../kube/clock.ts";
import {
  ADMISSION_SERVER_LIMITS,
  type AdmissionHandlers,
  createAdmissionHttp,
  reservedForApiServers,
} from "../../webhook/admission_http.ts";
import type { CertificateManager } from "../../webhook/certificate_manager.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";
import type { StatusEndpoint } from "./status_endpoint.ts";

/** Options of the servers. */
export interface ServingParts {
  readonly configuration: Pick<
    ManagerConfiguration,
    "bindAddress" | "statusPort" | "webhookPort" | "apiServerAddresses"
  >;
  readonly certificates: CertificateManager;
  readonly clock: Clock;
  readonly caps: ServingCaps;
  /** Budget of the bytes of bodies, which both servers share. */
  readonly bodyBudget: FairShare;
}

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

/** Serves pushes and reads. */
export function serveStatus(
  parts: ServingParts,
  { handler: handle, refuses }: {
    readonly handler: StatusEndpoint["handler"];
    readonly refuses: StatusEndpoint["peers"]["refuseConnection"];
  },
): Promise<Server> {
  const { caps } = parts;
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
    refuses,
    refusesWhileClosing: true,
  });
}

/** Serves admission. */
export function serveAdmission(parts: ServingParts, handlers: AdmissionHandlers): Promise<Server> {
  const isReserved = createAddressList(parts.configuration.apiServerAddresses);
  const { caps } = parts;
  return serve(parts, {
    name: "webhook",
    port: parts.configuration.webhookPort,
    portSetting: "--webhook-port",
    handle: createAdmissionHttp(handlers, parts.clock, { isReserved }),
    reserved: reservedForApiServers(isReserved),
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
