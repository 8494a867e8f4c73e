/** Probe for TLS, before gRPC connects to a peer. */
import { connect as connectTcp } from "node:net";
import { connect } from "node:tls";
import type { Clock } from "../../platform/base/clock.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import type { TlsIdentity } from "../../platform/http/tls.ts";

/** The manager's certificate, and the CA of its peer; all PEM. */
export interface ClientTls extends Required<TlsIdentity> {
  /** The name that the peer's certificate must carry. */
  readonly serverName: string;
}

/** Options of {@link probeProtocol}. */
export interface ProbeOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: ClientTls;
  readonly clock: Clock;
  /** Milliseconds. */
  readonly deadlineMs: number;
}

type Outcome = "tls" | "plaintext" | { readonly problem: string };

/** Tries a TLS handshake. A peer that closes an open connection, or breaks it, does not speak TLS. */
function shakeHands({ host, port, tls }: ProbeOptions, settle: (outcome: Outcome) => void) {
  const tcp = connectTcp({ host, port });
  tcp.on("error", (error) => settle({ problem: error.message }));
  tcp.once("connect", () => {
    const { cert, key, ca, serverName: servername } = tls;
    // The certificate is verified when gRPC connects; only the protocol matters here.
    const options = { cert, key, ca, servername, rejectUnauthorized: false };
    const secure = connect({ ...options, socket: tcp, ALPNProtocols: ["h2"] });
    secure.once("secureConnect", () => settle("tls"));
    secure.on("error", () => settle("plaintext"));
    secure.once("close", () => settle("plaintext"));
  });
  return tcp;
}

/**
 * Resolves with the peer's protocol: one that closes the connection at a TLS handshake speaks plaintext.
 * Rejects with an Error if the connection is refused, or no answer comes in time.
 */
export async function probeProtocol(options: ProbeOptions): Promise<"tls" | "plaintext"> {
  const { clock, deadlineMs, host, port } = options;
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const tcp = shakeHands(options, resolve);
  const late = { problem: `no answer to a handshake within ${deadlineMs} ms` };
  try {
    const outcome = await answerInTime(clock, deadlineMs, late, () => promise);
    if (typeof outcome === "object") throw new Error(`${host}:${port}: ${outcome.problem}`);
    return outcome;
  } finally {
    tcp.destroy();
  }
}
