/** Free ports for programs that cannot be given port 0, since others must know the port before they start. */

/** Below what Linux gives to outgoing connections (32768 and up), which come and go meanwhile. */
const RANGE = { from: 20_000, to: 32_000 } as const;
const given = new Set<number>();

function isFree(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return false;
    throw error;
  }
}

/** A loopback port that nobody listens on, and that this process has not given out before. */
export function freePort(): number {
  for (let tries = 0; tries < 1000; tries++) {
    const port = RANGE.from + Math.floor(Math.random() * (RANGE.to - RANGE.from));
    if (given.has(port) || !isFree(port)) continue;
    given.add(port);
    return port;
  }
  throw new Error(`no free port from ${RANGE.from} to ${RANGE.to}`);
}
