/** Certificates, as the manager issues them, for a server and its clients. */
import type { ServerTls } from "../../../katib/log/db_manager_server.ts";
import type { ClientTls } from "../../../katib/log/peer_protocol.ts";
import {
  createAuthority,
  issueServingCertificate,
} from "../../../webhook/certificate_authority.ts";

/** The name that the server's certificate carries. */
export const SERVER_NAME = "manager.kubeflow-system.svc";

/** Both sides of one CA. */
export interface TlsFiles {
  readonly server: ServerTls;
  readonly client: ClientTls;
}

/** Makes a CA, and a certificate for each side. */
export async function makeTls(now = Date.now()): Promise<TlsFiles> {
  const authority = await createAuthority(now);
  const [server, client] = await Promise.all([
    issueServingCertificate(authority, [SERVER_NAME], now),
    issueServingCertificate(authority, ["replica"], now),
  ]);
  const ca = authority.certificate;
  return {
    server: { cert: server.certificate, key: server.key, clientCa: ca },
    client: { cert: client.certificate, key: client.key, ca, serverName: SERVER_NAME },
  };
}
