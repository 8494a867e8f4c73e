/** Concurrency limit for each peer, with a queue for each. */
import { createSemaphore, type Semaphore } from "../../kube/semaphore.ts";

/**
 * Runs work of a peer when fewer than the limit run for that peer. Rejects with the signal's reason if it aborts
 * before that.
 */
export type RunForPeer = <T>(
  peer: string,
  work: () => Promise<T>,
  signal: AbortSignal,
) => Promise<T>;

/** Creates a {@link RunForPeer}. Its memory is bounded by the number of works that run or wait. */
export function createPeerTurns(atOncePerPeer: number): RunForPeer {
  const byPeer = new Map<string, { readonly semaphore: Semaphore; works: number }>();
  return async (peer, work, signal) => {
    const turns = byPeer.get(peer) ?? { semaphore: createSemaphore(atOncePerPeer), works: 0 };
    byPeer.set(peer, turns);
    turns.works += 1;
    try {
      return await turns.semaphore.run(work, signal);
    } finally {
      turns.works -= 1;
      if (turns.works === 0) byPeer.delete(peer);
    }
  };
}
