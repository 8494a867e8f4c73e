/** Finds out whether a peer speaks TLS, before gRPC is spoken to it. */
import { connect as connectTcp } from "node:net";
import { connect } from "node:tls";
import type { Clock } from "../../kube/clock.ts";

/** By what the manager shows who it is, and knows its peer; all PEM. */
export interface ClientTls {
  readonly cert: string;
  readonly key: string;
  /** Every CA that is trusted. */
  readonly ca: string;
  /** The name that the peer's certificate must carry. */
  readonly serverName: string;
}

/** Where, how long, and until when. */
export interface ProbeOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: ClientTls;
  readonly clock: Clock;
  /** Milliseconds. */
  readonly deadlineMs: number;
}

type Outcome = "tls" | "plaintext" | { readonly problem: string };

/** What came of a handshake on a connection that stands: its end or an error mean that it is no TLS. */
function shakeHands({ host, port, tls }: ProbeOptions, settle: (outcome: Outcome) => void) {
  const tcp = connectTcp({ host, port });
  tcp.on("error", (error) => settle({ problem: error.message }));
  tcp.once("connect", () => {
    const { cert, key, ca, serverName: servername } = tls;
    // Whom it trusts is decided when gRPC connects; here only the protocol is asked for.
    const options = { cert, key, ca, servername, rejectUnauthorized: false };
    const secure = connect({ ...options, socket: tcp, ALPNProtocols: ["h2"] });
    secure.once("secureConnect", () => settle("tls"));
    secure.on("error", () => settle("plaintext"));
    secure.once("close", () => settle("plaintext"));
  });
  return tcp;
}

/**
 * Whether the peer takes a TLS handshake. One that ends the connection at it speaks plaintext. Rejects
 * with an Error where nobody listens or nothing is answered in time.
 */
export async function probeProtocol(options: ProbeOptions): Promise<"tls" | "plaintext"> {
  const { clock, deadlineMs, host, port } = options;
  const over = new AbortController();
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const tcp = shakeHands(options, resolve);
  clock.sleep(deadlineMs, over.signal).then(() =>
    resolve({ problem: `no answer to a handshake within ${deadlineMs} ms` })
  );
  try {
    const outcome = await promise;
    if (typeof outcome === "object") throw new Error(`${host}:${port}: ${outcome.problem}`);
    return outcome;
  } finally {
    over.abort();
    tcp.destroy();
  }
}
