/** Attackers as a process that comes after everybody else, as if they had machines of their own. */
import { run } from "../../tests/support/command.ts";
import { buildGenerator } from "../generator/generator.ts";
import { type Load, type LoadPlan, parseLoad } from "../generator/plan.ts";

/** Beyond the plans: what the generator needs to start and to end. */
const SPARE_MS = 30_000;

/** Runs the plans at low priority. Throws if the generator fails. */
export async function runAttackers(plans: readonly LoadPlan[]): Promise<Load[]> {
  const { code, stdout, stderr } = await run("nice", {
    args: ["-n", "10", await buildGenerator()],
    stdin: JSON.stringify({ plans }),
    timeoutMs: Math.max(...plans.map(({ durationMs = 0 }) => durationMs)) + SPARE_MS,
  });
  if (code !== 0) throw new Error(`the attacker ended with ${code}: ${stderr.trim()}`);
  return parseLoad(stdout).results;
}
