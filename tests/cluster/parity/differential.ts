/** Runner of the same cases on two sides; a case in doubt is run twice. */
import type { CaseTable } from "./case.ts";
import { type Allowed, compareRuns, judge, type Judgement } from "./compare.ts";
import type { Observation, Run } from "./perform.ts";

/** Options of a comparison. */
export interface Differential {
  readonly upstream: (cases: CaseTable) => Promise<Run>;
  readonly milepost: (cases: CaseTable) => Promise<Run>;
  readonly comparable: (observation: Observation) => unknown;
  readonly allowed: readonly Allowed[];
}

/**
 * Judges all cases. Those that differ where they may not are performed once more, with nothing else beside
 * them: what a busy machine only showed late is there then, and what is wrong is wrong again.
 */
export async function judgeCases(cases: CaseTable, by: Differential): Promise<Judgement> {
  const compare = async (some: CaseTable) =>
    compareRuns(await by.upstream(some), await by.milepost(some), by.comparable);
  const findings = await compare(cases);
  const judgement = judge(findings, by.allowed);
  const doubtful = new Set(judgement.unexpected.map(({ says }) => says));
  if (doubtful.size === 0) return judgement;
  const again = Object.entries(cases).filter(([says]) => doubtful.has(says));
  const settled = findings.filter(({ says }) => !doubtful.has(says));
  return judge([...settled, ...await compare(Object.fromEntries(again))], by.allowed);
}
