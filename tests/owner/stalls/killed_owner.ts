/** Life of a job that hangs again and again, and whose owner is killed once, at one of its writes. */
import { restartOf } from "../../../crds/job_state.ts";
import { RUNNING, scene } from "./stall_scene.ts";

/** Restarts that the job's policy allows. */
export const ALLOWED = 2;

/** What came of it. */
export interface KilledLife {
  readonly restarts: number;
  readonly spent: number;
  /** Restarts of which the budget knows. */
  readonly counted: number;
  readonly writes: number;
  readonly wasKilled: boolean;
}

/** Lets the job live; the owner is killed before or after that write, counted from 1. */
export async function killedAt(when: "before" | "after", at: number): Promise<KilledLife> {
  const state = { writes: 0, isDead: false, wasKilled: false };
  const it = scene({
    policy: { action: "Restart", maxRestarts: ALLOWED },
    failing(moment) {
      if (state.isDead) throw new Error("killed");
      if (moment === "before") state.writes += 1;
      if (state.wasKilled || moment !== when || state.writes !== at) return;
      state.isDead = state.wasKilled = true;
      throw new Error("killed");
    },
  });
  const checkpoint = { step: 15, time: "2026-01-01T00:00:00Z" };
  await it.add("a", { ...RUNNING, checkpoint });
  /** Steps up to 19 that the job has made before, so that it hangs at the same place; then only heartbeats. */
  async function hang(step: number, seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 5) {
      it.beat("a", "p1", [[0, step, second, "train.py:1"]]);
      await it.clock.advance(5000);
      if (!state.isDead) continue;
      state.isDead = false;
      await it.succeed();
    }
  }
  for (let round = 1; round <= ALLOWED + 2; round++) {
    const step = 100 * round;
    await it.train(["a"], step - 15, 15);
    // A new owner listens for ten minutes first.
    await hang(step - 1, 800);
    const restart = restartOf(it.object("a"));
    if (restart === undefined || restart.endTime !== undefined) continue;
    await it.set("a", {
      restart: { ...restart, endTime: new Date(it.clock.now()).toISOString() },
    });
  }
  await it.end();
  const { count = 0, budget } = restartOf(it.object("a")) ?? {};
  return {
    restarts: count,
    spent: budget?.spent ?? 0,
    counted: budget?.times.length ?? 0,
    writes: state.writes,
    wasKilled: state.wasKilled,
  };
}
