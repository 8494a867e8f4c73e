/** Runner of the same cases on two sides; a case in doubt is run twice. */
import type { CaseTable } from "./case.ts";
import { type Allowed, compareRuns, judge, type Judgement } from "./compare.ts";
import type { Observation, Run } from "./perform.ts";

/** Performs cases, so many at a time. */
export type Side = (cases: CaseTable, atOnce: number) => Promise<Run>;

/** Cases at a time: all of them, and those in doubt. */
const AT_ONCE = { all: 24, inDoubt: 12 } as const;

/** Options of a comparison. */
export interface Differential {
  readonly upstream: Side;
  readonly milepost: Side;
  readonly comparable: (observation: Observation) => unknown;
  readonly allowed: readonly Allowed[];
}

/**
 * Judges all cases. Those that differ where they may not are performed once more, few at a time: what a busy
 * machine only showed late is there then, and what is wrong is wrong again.
 */
export async function judgeCases(cases: CaseTable, by: Differential): Promise<Judgement> {
  const compare = async (some: CaseTable, atOnce: number) =>
    compareRuns(await by.upstream(some, atOnce), await by.milepost(some, atOnce), by.comparable);
  const findings = await compare(cases, AT_ONCE.all);
  const judgement = judge(findings, by.allowed);
  const doubtful = new Set(judgement.unexpected.map(({ says }) => says));
  if (doubtful.size === 0) return judgement;
  const again = Object.entries(cases).filter(([says]) => doubtful.has(says));
  const settled = findings.filter(({ says }) => !doubtful.has(says));
  const findingsAgain = await compare(Object.fromEntries(again), AT_ONCE.inDoubt);
  return judge([...settled, ...findingsAgain], by.allowed);
}
