/** What a Service does, on loopback: connections go to one of the ports behind it that answers. */

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

  async function carry(front: Deno.Conn): Promise<void> {
    open.add(front);
    const back = await connect();
    if (back === undefined) return close(front);
    open.add(back);
    const one = async (from: Deno.Conn, to: Deno.Conn) => {
      // Whoever goes first takes the other along.
      await from.readable.pipeTo(to.writable, { preventClose: true }).catch(() => {});
      close(from);
      close(to);
    };
    await Promise.all([one(front, back), one(back, front)]);
  }

  const accepting = (async () => {
    for await (const conn of listener) {
      const done = carry(conn).catch(() => close(conn)).finally(() => running.delete(done));
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
