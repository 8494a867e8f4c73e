/** Requests as the runtime's server hands them over. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type PeerCertificate, TLSSocket } from "node:tls";
import { valuesOf } from "./malformed_requests.ts";
import type { HttpRequest } from "./message.ts";
import { onAbort } from "../base/aborted.ts";
import type { Clock } from "../base/clock.ts";
import type { HeldBodies, HeldBody } from "./held_bodies.ts";
import { peerKey } from "./limits/peer_key.ts";
import type { ClientCertificate } from "./tls.ts";

function list(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}

/** Returns the certificate that the client of a TLS connection has shown, if it was verified. */
export function clientCertificateOf(socket: unknown): ClientCertificate | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const shown: Partial<PeerCertificate> = socket.getPeerCertificate();
  return {
    commonNames: list(shown.subject?.CN),
    organizations: list(shown.subject?.O),
    dnsNames: (shown.subjectaltname ?? "").split(", ")
      .flatMap((name) => name.startsWith("DNS:") ? [name.slice("DNS:".length)] : []),
  };
}

/** Parts of a server that its requests use. */
export interface RequestServer {
  readonly closing: AbortSignal;
  readonly bodies: HeldBodies;
  readonly clock: Clock;
}

/** A request of a server; a class, since there are thousands a second. */
export class ServerRequest implements HttpRequest {
  #peer?: string;
  #body?: HeldBody;

  constructor(
    private readonly message: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly server: RequestServer,
  ) {}

  get method(): string {
    return this.message.method ?? "";
  }

  get url(): string {
    return this.message.url ?? "";
  }

  get peer(): string {
    return this.#peer ??= peerKey(this.message.socket.remoteAddress ?? "");
  }

  get connection(): object {
    return this.message.socket;
  }

  get clientCertificate(): ClientCertificate | undefined {
    return clientCertificateOf(this.message.socket);
  }

  signal(): AbortSignal {
    const gone = new AbortController();
    const abort = () => gone.abort();
    const forget = onAbort(this.server.closing, abort);
    this.response.once("close", () => {
      forget();
      abort();
    });
    if (this.response.destroyed) abort();
    return gone.signal;
  }

  header(name: string): string | undefined {
    // The runtime keeps the first of two; a client that sends two may mean the other.
    if (name === "authorization") {
      const sent = valuesOf(this.message.rawHeaders, name);
      return sent?.length === 1 ? sent[0] : sent?.join(", ");
    }
    const value = this.message.headers[name];
    return typeof value === "string" ? value : value?.[0];
  }

  readBody(maxBytes: number): Promise<Uint8Array | undefined> {
    const { bodies, clock } = this.server;
    this.#body = bodies.hold(this.message, this.peer, clock.monotonic());
    return this.#body.read(maxBytes);
  }

  /** Gives back what its body holds of the server's budget; called once, when it is answered. */
  release(): void {
    const { bodies, clock } = this.server;
    if (this.#body !== undefined) bodies.release(this.#body, clock.monotonic());
  }
}
