/**
 * Port-forward: an HTTP proxy on loopback whose tunnels lead to a pod, each through a WebSocket of the API server.
 * So a client names the server as its certificate does, and the name need not lead there.
 */
import { Buffer } from "node:buffer";
import { onAbort } from "../../base/aborted.ts";
import { after, systemClock } from "../../base/clock.ts";
import { messageOf, TransportError } from "../errors.ts";
import type { Transport } from "./transport.ts";

/** A port of a pod. */
export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** A port-forward. */
export type PortForward = ReturnType<typeof startPortForward>;

/** Of the API's framing: the first byte of each message is a channel, the first message of a channel the port. */
const PROTOCOL = "v4.channel.k8s.io";
const DATA = 0;
const ERROR = 1;
const HEADER_BYTES = 2;

const CONNECT_MS = 10_000;
/** Longest head of the request for a tunnel, in bytes. */
const HEAD_BYTES = 8_192;
const ESTABLISHED = "HTTP/1.1 200 Connection established\r\n\r\n";
/** Connections at a time. */
const MAX_CONNECTIONS = 64;
const MAX_WAITING = 64 << 20;
const READ_BYTES = 65_536;

/** How a connection came to its end. */
interface End {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** What comes from the pod, on its way to the connection. */
function incoming(conn: Deno.Conn, { resolve, reject }: End, maxWaiting: number) {
  const headers = new Set<number>();
  let writing = Promise.resolve();
  let waiting = 0;
  const write = async (bytes: Uint8Array) => {
    for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
    waiting -= bytes.length;
  };
  return {
    take(data: ArrayBuffer): void {
      const [channel] = new Uint8Array(data);
      if (channel === undefined) return;
      const isFirst = !headers.has(channel);
      headers.add(channel);
      const bytes = new Uint8Array(data).subarray(isFirst ? 1 + HEADER_BYTES : 1);
      if (bytes.length === 0) return;
      if (channel === ERROR) reject(new TransportError(new TextDecoder().decode(bytes)));
      if (channel !== DATA) return;
      waiting += bytes.length;
      if (waiting > maxWaiting) reject(new TransportError("too much waits to be read"));
      writing = writing.then(() => write(bytes));
      writing.catch(resolve);
    },
    /** All that came is to be written before the end. */
    finish: () => void writing.then(resolve, resolve),
  };
}

/** Reads the head of a request; returns whether it asks for a tunnel. What is to go through comes after the answer. */
async function asksForTunnel(conn: Deno.Conn): Promise<boolean> {
  const bytes = Buffer.alloc(HEAD_BYTES);
  for (let at = 0; at < bytes.length;) {
    const length = await conn.read(bytes.subarray(at));
    if (length === null) return false;
    at += length;
    const head = bytes.toString("latin1", 0, at);
    if (head.includes("\r\n\r\n")) return head.startsWith("CONNECT ") && head.endsWith("\r\n\r\n");
  }
  return false;
}

/** Sends what the connection's other side writes, until it ends. */
async function sendAll(
  conn: Deno.Conn,
  socket: WebSocket,
  { reject }: End,
  maxWaiting: number,
): Promise<void> {
  const buffer = new Uint8Array(1 + READ_BYTES);
  buffer[0] = DATA;
  for (;;) {
    const length = await conn.read(buffer.subarray(1));
    if (length === null || socket.readyState !== WebSocket.OPEN) return;
    socket.send(buffer.slice(0, 1 + length));
    if (socket.bufferedAmount > maxWaiting) {
      reject(new TransportError("too much waits to be sent"));
    }
  }
}

/** Starts one. Connections are refused while there is no target. */
export function startPortForward(
  { transport, target, onFailure, maxWaiting = MAX_WAITING }: {
    readonly transport: Pick<Transport, "connect">;
    /** Returns where the next connection leads; undefined if it is refused. */
    readonly target: () => PodPort | undefined;
    /** Called when a connection could not be made, or the pod's end of it failed. */
    readonly onFailure: (target: PodPort, error: unknown) => void;
    /** Bytes that wait for their reader, in either direction, before a connection is given up. Default 64 MiB. */
    readonly maxWaiting?: number;
  },
) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const closed = new AbortController();
  const running = new Set<Promise<void>>();

  async function tunnel(conn: Deno.Conn, to: PodPort): Promise<void> {
    const ended: End = Promise.withResolvers<void>();
    // It may fail before it is waited for.
    ended.promise.catch(() => {});
    const received = incoming(conn, ended, maxWaiting);
    const path = `/api/v1/namespaces/${encodeURIComponent(to.namespace)}/pods/` +
      `${encodeURIComponent(to.pod)}/portforward?ports=${to.port}`;
    const signal = AbortSignal.any([closed.signal, AbortSignal.timeout(CONNECT_MS)]);
    const request = { path, protocol: PROTOCOL, onMessage: received.take };
    const socket = await transport.connect(request, signal);
    try {
      await conn.write(new TextEncoder().encode(ESTABLISHED));
      socket.onclose = received.finish;
      if (socket.readyState > WebSocket.OPEN) received.finish();
      // Whoever goes first takes the other along; a connection that breaks is an end as well.
      sendAll(conn, socket, ended, maxWaiting).then(ended.resolve, ended.resolve);
      await ended.promise;
    } finally {
      if (socket.readyState < WebSocket.CLOSING) socket.close();
    }
  }

  async function carry(conn: Deno.Conn): Promise<void> {
    const hangUp = () => {
      try {
        conn.close();
      } catch {
        // It was closed already.
      }
    };
    const forget = onAbort(closed.signal, hangUp);
    const cancel = after(systemClock, CONNECT_MS, hangUp);
    const isAsked = await asksForTunnel(conn).catch(() => false);
    cancel();
    const to = target();
    try {
      if (isAsked && to !== undefined) await tunnel(conn, to);
    } catch (error) {
      if (to !== undefined && !closed.signal.aborted) onFailure(to, error);
    } finally {
      forget();
      hangUp();
    }
  }

  const accepting = (async () => {
    for await (const conn of listener) {
      if (running.size >= MAX_CONNECTIONS) {
        conn.close();
        continue;
      }
      const carried: Promise<void> = carry(conn).finally(() => running.delete(carried));
      running.add(carried);
    }
  })();

  return {
    /** The proxy's, on loopback. */
    proxyUrl: `http://127.0.0.1:${listener.addr.port}`,
    /** Ends all connections; resolves when nothing runs. */
    async close(): Promise<void> {
      closed.abort();
      listener.close();
      // A listener that is closed while it waits may throw.
      await accepting.catch((error) => {
        if (!(error instanceof Deno.errors.BadResource)) throw new Error(messageOf(error));
      });
      await Promise.all(running);
    },
  };
}
