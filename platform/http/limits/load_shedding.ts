/** Load shedding: rates of strangers' new connections, which apply while the event loop is late. */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../base/clock.ts";
import { createPeerRate } from "./peer_rate.ts";
import { DEFAULT_SERVER_LIMITS } from "./server_limits.ts";

/** Interval at which the event loop is measured, in milliseconds. */
const MEASURE_EVERY_MS = 100;
/** A turn this late means that there is too much to do, in milliseconds; a handshake takes 0.3. */
const LATE_MS = 100;
/** Time for which the rates apply after the loop was late, in milliseconds. */
const APPLIES_MS = 10_000;
/** New connections of strangers: of a peer as many as a reader may need, of all a fifth of a core. */
const STRANGERS = {
  perPeer: { ratePerSecond: 20, burst: 100 },
  total: { ratePerSecond: 300, burst: 600 },
  maxPeers: DEFAULT_SERVER_LIMITS.connections.maxPeers,
} as const;

/**
 * Creates what decides, for all ports of the process, which new connections are taken when there are more than one thread
 * can take.
 */
export function createLoadShedding({ clock, onRefused }: {
  readonly clock: Clock;
  /** Called for each connection that is refused. */
  readonly onRefused: () => void;
}) {
  const log = getLogger(["milepost", "http"]);
  const take = createPeerRate(STRANGERS);
  let appliesUntilMs = -Infinity;

  /** Whether the present time of shedding was reported. */
  let isReported = false;

  function measured(lateMs: number, nowMs: number): void {
    if (lateMs < LATE_MS) return;
    if (nowMs >= appliesUntilMs) isReported = false;
    appliesUntilMs = nowMs + APPLIES_MS;
  }

  function refused(peer: string): void {
    onRefused();
    // A loop that is late, as at a start, is no news as long as nobody is turned away.
    if (!isReported) {
      const message =
        "more to do than one thread can; new connections of unknown addresses are limited";
      log.warn(message, { peer });
    }
    isReported = true;
  }

  return {
    /**
     * Returns whether a new connection of a stranger shall be closed at once. Who is a stranger, the
     * server says that asks.
     */
    refuses(peer: string, nowMs: number): boolean {
      if (nowMs >= appliesUntilMs || take(peer, nowMs, 1) === 0) return false;
      refused(peer);
      return true;
    },
    /** Measures the event loop until `signal` aborts. Before and after that nothing is refused. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const beforeMs = clock.monotonic();
        await clock.sleep(MEASURE_EVERY_MS, signal);
        const nowMs = clock.monotonic();
        measured(nowMs - beforeMs - MEASURE_EVERY_MS, nowMs);
      }
      appliesUntilMs = -Infinity;
    },
  };
}
