/** Replacement pods whose clock is behind: what was acknowledged stays, over changes of owner. */
import assert from "node:assert/strict";
import { createLogState } from "../../../katib/adapter/log_state.ts";
import type { ObservationRow } from "../../../trials/recording/observation_log.ts";
import { planOf, pushOf } from "../adapter/adapter_scene.ts";

Deno.test("a new pod that is behind, with values that repeat: nothing that was acknowledged is lost to a later owner", () => {
  const plan = planOf("a", { rules: [] });
  let rows: ObservationRow[] = [];
  let pushed = 0;
  const term = (pushes: [string, number, string][]) => {
    const state = createLogState(plan, rows);
    for (const [pod, step, loss] of pushes) {
      const taken = state.take({ ...pushOf(plan, step, loss), pod: { name: pod, uid: pod } });
      state.commit(taken);
      rows = [...rows, ...taken.rows].sort((a, b) => a.time < b.time ? -1 : 1);
      pushed++;
    }
  };
  term([["one", 20, "0.7"], ["one", 21, "0.6"]]);
  term([["two", 10, "0.5"], ["two", 11, "0.5"], ["two", 12, "0.5"]]);
  term([["two", 13, "0.5"], ["two", 14, "0.5"], ["two", 15, "0.5"]]);
  assert.equal(rows.length, pushed);
});
