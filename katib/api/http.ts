/** Requests and answers of the observation API, whatever server they come through. */

/** A request without body. */
export interface ApiRequest {
  readonly method: string;
  /** Path with query, as it was sent. */
  readonly url: string;
  /** Address of the peer, without port. */
  readonly peer: string;
  /** Value of a header by its lower-case name. */
  header(name: string): string | undefined;
}

/** Where a streamed answer goes. */
export interface ApiSink {
  /** Resolves when the client can take more; at once where it has gone. */
  write(text: string): Promise<void>;
  /** Aborts when the client has gone, or the endpoint shuts down. */
  readonly signal: AbortSignal;
}

/** An answer. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Of an answer that goes on: writes until it resolves; called once. `body` is empty. */
  readonly stream?: (sink: ApiSink) => Promise<void>;
}
