/** Slow clients of three kinds. For tests and benchmarks. */
import type { TLSSocket } from "node:tls";
import { dial, type RawTarget } from "../../status/hostile/connection.ts";

/** Bytes that a slow client has sent when it stops. */
export const SLOW_KINDS = ["half a header", "half a body", "an honest push"] as const;
export type SlowKind = typeof SLOW_KINDS[number];

/** A client that has sent what it sends. */
export interface SlowClient {
  readonly kind: SlowKind;
  /** Bytes that came until the connection was closed. */
  readonly closed: Promise<string>;
  destroy(): void;
}

/** The part of an honest push that a client of this kind sends. */
function partOf(kind: SlowKind, honest: string): string {
  if (kind === "half a header") return honest.slice(0, honest.indexOf("\r\n\r\n") - 10);
  return kind === "half a body" ? honest.slice(0, -10) : honest;
}

/** Connects, and sends its part; resolves when that is sent, or when it was not let in. */
export function slowClient(target: RawTarget, kind: SlowKind, honest: string): Promise<SlowClient> {
  return new Promise((resolve) => {
    const socket: TLSSocket = dial(target);
    let heard = "";
    const closed = new Promise<string>((done) => socket.on("close", () => done(heard)));
    const client = { kind, closed, destroy: () => socket.destroy() };
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => heard += String(chunk));
    socket.on("error", () => {});
    socket.once("secureConnect", () => {
      socket.write(partOf(kind, honest));
      resolve(client);
    });
    closed.then(() => resolve(client));
  });
}

/** Opens `count` of each kind, `atOnce` at a time, from these addresses in turn. */
export async function openSlowClients(options: {
  readonly target: RawTarget;
  readonly sources: readonly string[];
  readonly honest: string;
  readonly count: number;
  readonly atOnce: number;
}): Promise<SlowClient[]> {
  const { target, sources, honest, count, atOnce } = options;
  const clients: SlowClient[] = [];
  let next = 0;
  const open = async () => {
    for (let index = next++; index < count * SLOW_KINDS.length; index = next++) {
      const localAddress = sources[index % sources.length];
      const kind = SLOW_KINDS[index % SLOW_KINDS.length] ?? "half a header";
      clients.push(await slowClient({ ...target, localAddress }, kind, honest));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, open));
  return clients;
}
