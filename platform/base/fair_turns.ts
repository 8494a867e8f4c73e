/** Turns at a bounded number of places: nobody has more than a few of them, and those who wait take turns. */
import { onAbort } from "./aborted.ts";

/** Bounds of work that runs at a time. */
export interface TurnLimits {
  /** In all. Default: no bound. */
  readonly total?: number;
  /** Of one key, such as a user or a peer. */
  readonly perKey: number;
}

/** Runs work when its key's turn comes. Rejects with the signal's reason if that aborts before. */
export type RunInTurn = <T>(
  key: string,
  work: () => Promise<T>,
  signal: AbortSignal,
) => Promise<T>;

/** What one key has and wants. */
interface Turns {
  held: number;
  /** Those that wait, in order; one whose signal aborts leaves. */
  readonly waiting: Set<() => void>;
}

/**
 * Creates a {@link RunInTurn}. A place that is free goes to the key that had none for longest. Who holds places leaves
 * as many free, so that a few keys cannot take all of them. Its memory is bounded by the works that run or wait.
 */
export function createFairTurns({ total = Infinity, perKey }: TurnLimits): RunInTurn {
  /** Those that came, or whose turn began or ended, last stand at the end. */
  const keys = new Map<string, Turns>();
  let free = total;

  const mayGo = ({ held }: Turns) => held < perKey && held < free;

  function change(key: string, turns: Turns, places: 1 | -1): void {
    turns.held += places;
    free -= places;
    keys.delete(key);
    keys.set(key, turns);
  }

  /** Gives the place of a key to who waits; without a bound in all that is nobody but the key itself. */
  function giveTurns(ended: string, its: Turns): void {
    for (const [key, turns] of total === Infinity ? [[ended, its] as const] : keys) {
      if (free === 0) return;
      const [enter] = turns.waiting;
      if (enter === undefined || !mayGo(turns)) continue;
      turns.waiting.delete(enter);
      change(key, turns, 1);
      enter();
    }
  }

  function forgetIdle(key: string, { held, waiting }: Turns): void {
    if (held === 0 && waiting.size === 0) keys.delete(key);
  }

  function acquire(key: string, turns: Turns, signal: AbortSignal): Promise<void> {
    if (turns.waiting.size === 0 && mayGo(turns)) {
      change(key, turns, 1);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        turns.waiting.delete(enter);
        forgetIdle(key, turns);
        reject(signal.reason);
      };
      const enter = () => {
        forget();
        resolve();
      };
      turns.waiting.add(enter);
      const forget = onAbort(signal, leave);
    });
  }

  return async (key, work, signal) => {
    signal.throwIfAborted();
    const turns = keys.get(key) ?? { held: 0, waiting: new Set() };
    keys.set(key, turns);
    await acquire(key, turns, signal);
    try {
      return await work();
    } finally {
      change(key, turns, -1);
      giveTurns(key, turns);
      forgetIdle(key, turns);
    }
  };
}
