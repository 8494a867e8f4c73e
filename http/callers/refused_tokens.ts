/** Tokens that were refused, by hash, so that they cost nothing the next time. */
import type { Clock } from "../../kube/clock.ts";
import type { UnauthorizedReason } from "./bearer.ts";
import { createRecentMemory } from "../limits/recent_memory.ts";

/** How often what is past is looked for, at most, in milliseconds. */
const SWEEP_MS = 120_000;

/** A bounded memory. It holds no token. */
export interface RefusedTokens {
  /** Why this very token was refused, as long as that is remembered. */
  why(hash: string): UnauthorizedReason | undefined;
  add(hash: string, why: UnauthorizedReason, forMs: number): void;
}

/** Creates it, with room for `max` tokens (default 20000); those unused for longest make place. */
export function createRefusedTokens(clock: Clock, max = 20_000): RefusedTokens {
  const entries = createRecentMemory<{ why: UnauthorizedReason; untilMs: number }>({
    now: () => clock.monotonic(),
    max,
    idleMs: SWEEP_MS,
  });
  return {
    why(hash) {
      const entry = entries.get(hash);
      if (entry === undefined) return undefined;
      if (clock.monotonic() < entry.untilMs) return entry.why;
      entries.delete(hash);
      return undefined;
    },
    add(hash, why, forMs) {
      entries.set(hash, { why, untilMs: clock.monotonic() + forMs }, forMs);
    },
  };
}
