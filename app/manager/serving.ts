/** The manager's two TLS servers, with the certificates that they swap without a dropped connection. */
import type { Clock } from "../../kube/clock.ts";
import type { StatusEndpoint } from "./status_endpoint.ts";
import { startStatusServer, type StatusServer } from "../../http/server.ts";
import type { AdmissionHandlers } from "../../webhook/admission_http.ts";
import { type AdmissionServer, startAdmissionServer } from "../../webhook/admission_server.ts";
import type { CertificateManager } from "../../webhook/certificate_manager.ts";
import { ConfigurationError } from "../../kube/errors.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";

/** What servers are started with. */
export interface ServingParts {
  readonly configuration: Pick<
    ManagerConfiguration,
    "bindAddress" | "statusPort" | "webhookPort"
  >;
  readonly certificates: CertificateManager;
  readonly clock: Clock;
}

/** An occupied port is the user's to change: one line that names the flag. */
export async function orNameTheFlag<T>(
  flag: string,
  port: number,
  start: () => Promise<T>,
): Promise<T> {
  try {
    return await start();
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE") {
      throw new ConfigurationError(`${flag}: port ${port} is taken; choose another`, { cause });
    }
    throw cause;
  }
}

/** Serves pushes. Takes new certificates as they come. */
export async function serveStatus(
  { configuration, certificates, clock }: ServingParts,
  { handler: handle, refuses }: {
    readonly handler: StatusEndpoint["handler"];
    readonly refuses: StatusEndpoint["peers"]["refuses"];
  },
): Promise<StatusServer> {
  const { bindAddress: hostname, statusPort: port } = configuration;
  const server = await orNameTheFlag(
    "--status-port",
    port,
    () =>
      startStatusServer({ port, hostname, tls: certificates.current(), handle, refuses, clock }),
  );
  const stop = certificates.onChange(() => server.updateCertificate(certificates.current()));
  return {
    port: server.port,
    connections: server.connections,
    updateCertificate: server.updateCertificate,
    close: (drainMs) => {
      stop();
      return server.close(drainMs);
    },
  };
}

/** Serves admission. Takes new certificates as they come. */
export async function serveAdmission(
  { configuration, certificates, clock }: ServingParts,
  handlers: AdmissionHandlers,
): Promise<AdmissionServer> {
  const { bindAddress: hostname, webhookPort: port } = configuration;
  const tls = () => certificates.current();
  const server = await orNameTheFlag(
    "--webhook-port",
    port,
    () => startAdmissionServer({ port, hostname, tls, handlers, clock }),
  );
  const stop = certificates.onChange(() => server.updateCertificate());
  return {
    port: server.port,
    updateCertificate: server.updateCertificate,
    close: (graceMs) => {
      stop();
      return server.close(graceMs);
    },
  };
}
