/** How a peer is doing: when it is left alone, and what the log says about it, a line a minute. */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../kube/clock.ts";
import { backoffMs } from "../../kube/backoff.ts";

const log = getLogger(["milepost", "katib"]);

/** Pauses after failures, in milliseconds. */
export const BACKOFF = { firstMs: 50, longestMs: 2000 } as const;
const LOG_EVERY_MS = 60_000;

/** Options of {@link PeerTrouble}. */
export interface PeerTroubleOptions {
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Properties of each line. */
  readonly about: () => Record<string, unknown>;
}

/** Keeps count. */
export class PeerTrouble {
  readonly #options: PeerTroubleOptions;
  #failures = 0;
  #pausedUntil = 0;
  #problem: string | undefined;
  #loggedAt = -Infinity;

  constructor(options: PeerTroubleOptions) {
    this.#options = options;
  }

  /** What went wrong last, since when nothing has worked; undefined where all is well. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Milliseconds for which the peer is left alone. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.#options.clock.monotonic());
  }

  /** A call worked. */
  worked(): void {
    this.#failures = 0;
    this.#pausedUntil = 0;
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    if (this.#loggedAt === -Infinity) return;
    log.info("observations are written again", this.#options.about());
  }

  /**
   * A call failed. Where that is the peer's own trouble it is left alone for a while, longer from time to
   * time: what failed together, such as all calls on one connection, counts once.
   */
  failed(problem: string, isPeers: boolean): void {
    const { clock, random, about } = this.#options;
    this.#problem = problem;
    if (isPeers && this.pauseMs === 0) {
      this.#failures++;
      this.#pausedUntil = clock.monotonic() + backoffMs(this.#failures, BACKOFF, random);
    }
    const now = clock.monotonic();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    log.warn("observations could not be written; trying again", { ...about(), problem });
  }
}
