/** Health of a DBManager peer: pauses after failures, errors, and a line of log a minute. */
import { getLogger } from "@logtape/logtape";
import { backoffMs } from "../../platform/base/backoff.ts";
import type { Clock } from "../../platform/base/clock.ts";

import { SinkError } from "../../owner/observations/sink.ts";

const log = getLogger(["milepost", "katib"]);

/** Pauses after failures. */
export const BACKOFF = { firstMs: 50, longestMs: 2000 } as const;
const LOG_EVERY_MS = 60_000;

/** Failures of a peer since a call succeeded last. */
export class PeerHealth {
  #failures = 0;
  #pausedUntil = 0;
  #problem: string | undefined;
  #loggedAt = -Infinity;

  constructor(
    private readonly options: {
      readonly address: string;
      readonly clock: Clock;
      /** Returns a number from 0 up to 1. */
      readonly random: () => number;
      /** Returns further properties of each line of log. */
      readonly properties: () => Record<string, unknown>;
    },
  ) {}

  /** Milliseconds until the peer is called again. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.options.clock.monotonic());
  }

  /** Records that a call succeeded. */
  succeeded(): void {
    this.#failures = 0;
    this.#pausedUntil = 0;
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    if (this.#loggedAt === -Infinity) return;
    log.info("observations are written again", this.#properties());
  }

  /**
   * Records that a call failed. If `isPeers`, the problem is the peer's own, and pauses become longer with
   * each failure; calls that fail together, such as all calls on one connection, count once.
   */
  failed(problem: string, isPeers: boolean): void {
    const { clock, random } = this.options;
    this.#problem = problem;
    if (isPeers && this.pauseMs === 0) {
      this.#failures++;
      this.#pausedUntil = clock.monotonic() + backoffMs(this.#failures, BACKOFF, random);
    }
    const now = clock.monotonic();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    log.warn("cannot write observations; retrying", { ...this.#properties(), problem });
  }

  /** Returns an error with the last problem, or with `why` if there is none. */
  unavailable(why: string, { wroteNothing = false } = {}): SinkError {
    const message = `the DB manager at ${this.options.address}: ${this.#problem ?? why}`;
    const retryAfterMs = Math.max(1000, this.pauseMs);
    return new SinkError("unavailable", message, { retryAfterMs, wroteNothing });
  }

  #properties(): Record<string, unknown> {
    return { address: this.options.address, ...this.options.properties() };
  }
}
