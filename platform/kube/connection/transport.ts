/** Transport: authenticated HTTP requests to one API server. */
import type { RequestOptions } from "node:https";
import { unlessAborted } from "../../base/aborted.ts";
import type { Connection } from "./connection.ts";
import { endingWith } from "./ending_body.ts";
import { ConfigurationError, messageOf, TransportError } from "../errors.ts";

/** One HTTP request: `path` begins with `/` and has its query. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Called right before the request leaves. What it throws {@link Transport.send} throws, and nothing is sent. */
  readonly mayLeave?: () => void;
  /** Whether it takes a new connection, and leaves none open. Default false. */
  readonly newConnection?: boolean;
}

/** A WebSocket that is asked for. */
export interface SocketRequest {
  readonly path: string;
  readonly protocol: string;
  /** Takes each binary message; the first may come before the socket is returned. */
  readonly onMessage: (data: ArrayBuffer) => void;
}

/** Sends requests to one API server. */
export type Transport = ReturnType<typeof createTransport>;

/** TLS material; a change of it means new connections. */
interface Identity {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

interface Credentials extends Identity {
  readonly headers: Readonly<Record<string, string>>;
}

/** PEM text of what client-node gives: text, bytes, or a list of them. */
function pemText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (!Array.isArray(value)) return undefined;
  return value.map(pemText).filter((text) => text !== undefined).join("\n");
}

function headerTexts(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (value !== undefined) headers[name] = String(value).trim();
  }
  if (options.auth) headers["Authorization"] = `Basic ${btoa(options.auth)}`;
  return headers;
}

/** Reads certificates, and the token if it is in a file or comes from a command. */
async function readCredentials(connection: Connection): Promise<Credentials> {
  const options: RequestOptions = {};
  try {
    await connection.applyToHTTPSOptions(options);
  } catch (cause) {
    throw new ConfigurationError(`cannot read the credentials: ${messageOf(cause)}`, { cause });
  }
  return {
    ca: pemText(options.ca),
    cert: pemText(options.cert),
    key: pemText(options.key),
    headers: headerTexts(options),
  };
}

/** Resolves when the socket is open. Closes it, and throws, if it does not open or `signal` aborts before. */
async function opened(socket: WebSocket, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let problem = "closed";
  socket.onopen = () => resolve();
  socket.onerror = (event) => {
    if (event instanceof ErrorEvent) problem = event.message;
  };
  socket.onclose = () => reject(new TransportError(`no WebSocket: ${problem}`));
  try {
    await unlessAborted(promise, signal);
  } catch (error) {
    if (socket.readyState < WebSocket.CLOSING) socket.close();
    throw error;
  } finally {
    socket.onopen = socket.onerror = socket.onclose = null;
  }
}

function checkCluster({ cluster }: Connection): void {
  if (cluster.server.startsWith("https:") && cluster.skipTLSVerify) {
    throw new ConfigurationError(
      `cluster ${cluster.name}: insecure-skip-tls-verify is not supported; ` +
        "put the server's authority into certificate-authority-data",
    );
  }
  if (cluster.tlsServerName) {
    throw new ConfigurationError(
      `cluster ${cluster.name}: tls-server-name is not supported; ` +
        "use a server address that its certificate names",
    );
  }
}

/** `fetch` hides what failed in its error's cause, behind the whole URL. */
function whatFailed(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return messageOf(inner).replace(/^error sending request.*?(?=client error)/, "");
}

function sameIdentity(a: Identity, b: Identity): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}

/** One whose connections are used once, or kept open for the next request. */
function openClient(
  identity: Identity,
  { proxyUrl, keepsOpen }: { readonly proxyUrl: string | undefined; readonly keepsOpen: boolean },
): Deno.HttpClient {
  const { ca, cert, key } = identity;
  const common = {
    caCerts: ca === undefined ? undefined : [ca],
    proxy: proxyUrl === undefined ? undefined : { url: proxyUrl },
    // One connection a request in flight: one that died cannot take the others with it.
    http1: true,
    http2: false,
    ...(keepsOpen ? { poolIdleTimeout: 60_000 } : { poolMaxIdlePerHost: 0 }),
  };
  try {
    if (cert !== undefined && key !== undefined) {
      return Deno.createHttpClient({ ...common, cert, key });
    }
    return Deno.createHttpClient(common);
  } catch (cause) {
    throw new ConfigurationError(`cannot use the certificates: ${messageOf(cause)}`, { cause });
  }
}

/** A transport over the runtime's `fetch`. Throws {@link ConfigurationError} for what is not supported. */
export function createTransport(connection: Connection) {
  checkCluster(connection);
  const { cluster } = connection;
  const base = cluster.server.replace(/\/$/, "");
  let open: { identity: Identity; client: Deno.HttpClient; once?: Deno.HttpClient } | undefined;
  let reading: Promise<Credentials> | undefined;

  /** A command that gives credentials runs once for all who wait for it. */
  function credentialsNow(): Promise<Credentials> {
    reading ??= readCredentials(connection);
    return reading;
  }

  /** Requests in flight keep theirs. */
  function closeAll(): void {
    open?.client.close();
    open?.once?.close();
    open = undefined;
  }

  function clientFor(identity: Identity, newConnection = false): Deno.HttpClient {
    const { proxyUrl } = cluster;
    if (!open || !sameIdentity(open.identity, identity)) {
      closeAll();
      open = { identity, client: openClient(identity, { proxyUrl, keepsOpen: true }) };
    }
    if (!newConnection) return open.client;
    return open.once ??= openClient(identity, { proxyUrl, keepsOpen: false });
  }

  async function credentialsFor(signal: AbortSignal): Promise<Credentials> {
    signal.throwIfAborted();
    return await unlessAborted(credentialsNow(), signal).finally(() => {
      // The next caller must not wait for the read that failed.
      reading = undefined;
    });
  }

  return {
    /** Returns the bearer token that is sent now; undefined if the user proves itself by other means. */
    async bearerToken(signal: AbortSignal): Promise<string | undefined> {
      const { headers } = await credentialsFor(signal);
      return /^Bearer (\S+)$/.exec(headers["Authorization"] ?? "")?.[1];
    },
    /** Opens a WebSocket. Throws as {@link send} does; an open one is the caller's to close. */
    async connect(
      { path, protocol, onMessage }: SocketRequest,
      signal: AbortSignal,
    ): Promise<WebSocket> {
      const credentials = await credentialsFor(signal);
      const socket = new WebSocket(`${base.replace(/^http/, "ws")}${path}`, {
        protocols: [protocol],
        headers: credentials.headers,
        client: clientFor(credentials),
      });
      socket.binaryType = "arraybuffer";
      socket.onmessage = ({ data }) => {
        if (data instanceof ArrayBuffer) onMessage(data);
      };
      await opened(socket, signal);
      return socket;
    },
    /**
     * Resolves when the headers of the response have come. Throws `TransportError` if none come, and the
     * signal's reason if it is aborted; abort also ends the body.
     */
    async send(request: HttpRequest, signal: AbortSignal): Promise<Response> {
      const credentials = await credentialsFor(signal);
      const { method, path, body, mayLeave, newConnection } = request;
      const headers = { ...request.headers, ...credentials.headers };
      const client = clientFor(credentials, newConnection);
      mayLeave?.();
      try {
        const answer = await fetch(base + path, {
          method,
          headers,
          body,
          signal,
          client,
          redirect: "manual",
        });
        return endingWith(answer, signal);
      } catch (cause) {
        signal.throwIfAborted();
        throw new TransportError(`${method} ${base}: ${whatFailed(cause)}`, { cause });
      }
    },
    /** Closes the connections that are kept open. */
    close: closeAll,
  };
}
