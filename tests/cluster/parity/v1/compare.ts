/** Comparison of outcomes with recorded ones. Pure. */
import type { Finding } from "../compare.ts";
import { differences } from "../differences.ts";
import { type Fields, isFields } from "../comparable.ts";
import type { Outcomes } from "./recording.ts";

/** The results of the answers of a step, without what they say. */
function resultsOf({ answers }: Fields): string {
  if (!isFields(answers)) return "";
  const all = Object.entries(answers).map(([index, one]) =>
    `${index} ${isFields(one) ? one.result : "ok"}`
  );
  return all.filter((one) => !one.endsWith(" ok")).join();
}

/** Every difference; of a step that was answered differently only the answers, and nothing after it. */
export function compareOutcomes(upstream: Outcomes, milepost: Outcomes): Finding[] {
  const found: Finding[] = [];
  for (const [says, outcomes] of Object.entries(milepost)) {
    for (const [step, other] of outcomes.entries()) {
      const one = upstream[says]?.[step];
      if (one === undefined) throw new Error(`${says}: step ${step} is not recorded`);
      const same = resultsOf(one) === resultsOf(other);
      const inStep = differences(one, other)
        .filter(({ path }) => same || path.startsWith("/answers"));
      found.push(...inStep.map((difference) => ({ ...difference, says, step })));
      if (!same) break;
    }
  }
  return found;
}
