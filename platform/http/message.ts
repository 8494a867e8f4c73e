/** HTTP requests and responses, independent of the server that they come through. */
import type { ClientCertificate } from "./tls.ts";

/** A request. */
export interface HttpRequest {
  readonly method: string;
  /** Path with query, as it was sent. */
  readonly url: string;
  /** Key of the peer's address, by which its requests and connections are counted (`peerKey()`). */
  readonly peer: string;
  /** The same object for all requests of a connection, if there is one. */
  readonly connection?: object;
  /** Certificate of the client, if it has shown one that was verified. */
  readonly clientCertificate?: ClientCertificate | undefined;
  /** Returns a signal that aborts when the client has gone, or the server shuts down. */
  signal?(): AbortSignal;
  /** Returns the value of a header by its lower-case name. */
  header(name: string): string | undefined;
  /**
   * Reads the body. Returns undefined if it is longer than `maxBytes`; the server discards the rest.
   * Throws a {@link ClientGoneError} if the client goes away, and an {@link OverloadedError} if the server
   * holds too many bytes of bodies.
   */
  readBody(maxBytes: number): Promise<Uint8Array | undefined>;
}

/** Error for a client that closed the connection, or sent too slowly, and does not wait for a response. */
export class ClientGoneError extends Error {
  constructor(options?: { cause?: unknown }) {
    super("the client went away before it had sent the whole request", options);
    this.name = "ClientGoneError";
  }
}

/** Error for a body that is not read, because the server holds too many bytes of others, or of that peer. */
export class OverloadedError extends Error {
  constructor() {
    super("too many requests arrive at once: try again soon");
    this.name = "OverloadedError";
  }
}

/** A response. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /**
   * Writes the body of a streamed response until it resolves, then the response ends. It is called
   * once. `body` is empty.
   */
  readonly stream?: (sink: ResponseSink) => Promise<void>;
  /** Ends such a body if the server shuts down meanwhile. */
  readonly lastWords?: string;
}

/** Destination of a streamed response. */
export interface ResponseSink {
  /** Resolves when the client can take more; at once if the client has gone. */
  write(part: string | Uint8Array): Promise<void>;
  /** Aborts when the client has gone, or the server shuts down. */
  readonly signal: AbortSignal;
}

/** Handles a request. If it throws, the server responds: 503 for an {@link OverloadedError}, else 500. */
export type HttpHandler = (request: HttpRequest) => Promise<HttpResponse>;
