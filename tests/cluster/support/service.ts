/** Stand-in for a Service, on loopback: a connection goes to one of the ports behind it that accepts it. */

/** An address with ports behind it. */
export interface TestService {
  readonly url: string;
  /** `port` takes connections from now on. */
  add(port: number): void;
  close(): Promise<void>;
}

/** Starts a Service without anything behind it; by turns, and past those that refuse. */
export function startService(): TestService {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const ports: number[] = [];
  const open = new Set<Deno.Conn>();
  const running = new Set<Promise<unknown>>();
  let turn = 0;

  async function connect(): Promise<Deno.Conn | undefined> {
    for (let tries = 0; tries < ports.length; tries++) {
      const port = ports[turn++ % ports.length] ?? 0;
      try {
        return await Deno.connect({ hostname: "127.0.0.1", port });
      } catch (error) {
        if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      }
    }
    return undefined;
  }

  function close(conn: Deno.Conn): void {
    if (open.delete(conn)) conn.close();
  }

  /** Bytes from one to the other until either is gone; whoever goes first takes the other along. */
  async function one(from: Deno.Conn, to: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(65_536);
    try {
      for (;;) {
        const length = await from.read(buffer);
        if (length === null) break;
        for (let sent = 0; sent < length;) sent += await to.write(buffer.subarray(sent, length));
      }
    } catch {
      // A connection that was reset, or that the other direction closed, ends like any other.
    } finally {
      close(from);
      close(to);
    }
  }

  async function carry(front: Deno.Conn): Promise<void> {
    open.add(front);
    const back = await connect().catch(() => undefined);
    if (back === undefined) return close(front);
    open.add(back);
    await Promise.all([one(front, back), one(back, front)]);
  }

  const accepting = (async () => {
    for await (const conn of listener) {
      const done = carry(conn).finally(() => running.delete(done));
      running.add(done);
    }
  })();

  return {
    url: `https://127.0.0.1:${listener.addr.port}`,
    add: (port) => void ports.push(port),
    async close() {
      listener.close();
      await accepting;
      for (const conn of [...open]) close(conn);
      await Promise.all(running);
    },
  };
}

/** The port of `https://127.0.0.1:PORT`. */
export function portOf(url: string): number {
  return Number(new URL(url).port);
}
