/** Honest pushes beside histories of a few pods that are as costly as can be. */
import { HISTORY_LIMITS, PUSH_LIMITS } from "../../crds/names.ts";
import { runLoads } from "../generator/generator.ts";
import type { LoadPlan } from "../generator/plan.ts";
import { cpuSeconds } from "../process_stats.ts";
import type { Measure } from "../result.ts";
import { runAttackers } from "./attackers.ts";
import type { Endpoint } from "./endpoint.ts";
import { warmOf } from "./verdicts.ts";

const ATTACKERS = ["127.0.68.1", "127.0.68.2", "127.0.68.3"];
/** Pods that attack, and the histories that they send a second together. */
const PODS = 20;
const RATE = 40;

/** A history as long as can be: samples with as many metrics as fit. */
function longestHistory(): string {
  const metrics = Array.from({ length: PUSH_LIMITS.metrics }, (_, index) => ({
    name: `m${index}`,
    value: "1",
  }));
  const sample = { metrics, lastUpdatedTime: "2026-01-01T00:00:00Z" };
  const room = HISTORY_LIMITS.bodyBytes - '{"samples":[]}'.length;
  const count = Math.floor(room / (JSON.stringify(sample).length + 1));
  return JSON.stringify({ samples: Array<typeof sample>(count).fill(sample) });
}

/** Returns the plan of the pods that send the longest history, 40 times a second together. */
export function hostileHistories(
  { targets, caPem }: Pick<Endpoint, "targets" | "caPem">,
  durationMs: number,
): LoadPlan {
  const attacking = targets.slice(-PODS);
  return {
    name: "histories",
    targets: attacking.map((target) => ({ ...target, url: `${target.url}/history` })),
    caPem,
    connections: 2 * attacking.length,
    rate: RATE,
    durationMs,
    sources: ATTACKERS,
    body: longestHistory(),
  };
}

/** Measures honest pushes without and beside such histories. */
export async function historyMeasures(
  endpoint: Endpoint,
  honest: LoadPlan,
  durationMs: number,
): Promise<Measure[]> {
  const { results: [quiet] } = await runLoads([honest]);
  const before = await cpuSeconds(endpoint.pid);
  const [{ results: [beside] }, [attacker]] = await Promise.all([
    runLoads([honest]),
    runAttackers([hostileHistories(endpoint, durationMs)]),
  ]);
  const share = (await cpuSeconds(endpoint.pid) - before) / (durationMs / 1000);
  if (beside === undefined || quiet === undefined) throw new Error("the load generator is silent");
  return [{
    name: "p99 of pushes beside the longest histories of 20 pods",
    value: warmOf(beside, "p99"),
    unit: "ms",
    beside: { name: "no attack", value: warmOf(quiet, "p99") },
    note:
      `${beside.ok} of ${beside.sent} honest pushes taken; manager ${(share * 100).toFixed(0)} % ` +
      `of a core; the pods met ${JSON.stringify({ ...attacker?.byStatus, ...attacker?.errors })}`,
  }];
}
