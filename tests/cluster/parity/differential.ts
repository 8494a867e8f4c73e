/** Runner of the same cases on two sides; a case in doubt is run twice. */
import type { CaseTable } from "./case.ts";
import { type Allowed, compareRuns, judge, type Judgement } from "./compare.ts";
import type { Observation, Run } from "./perform.ts";

/** Performs cases, so many at a time. */
export type Side = (cases: CaseTable, atOnce: number) => Promise<Run>;

/** Cases at a time: of each side while both perform all of them, and of those in doubt. */
const AT_ONCE = { all: 16, inDoubt: 12 } as const;

/** Options of a comparison. */
export interface Differential {
  readonly upstream: Side;
  readonly milepost: Side;
  readonly comparable: (observation: Observation) => unknown;
  readonly allowed: readonly Allowed[];
}

/**
 * Judges all cases. Waiting is most of what both sides do: they perform at the same time. Cases that differ where
 * they may not are performed once more, few at a time, by one side after the other: what a busy machine only
 * showed late is there then, and what is wrong is wrong again.
 */
export async function judgeCases(cases: CaseTable, by: Differential): Promise<Judgement> {
  const [upstream, milepost] = await Promise.all([
    by.upstream(cases, AT_ONCE.all),
    by.milepost(cases, AT_ONCE.all),
  ]);
  const findings = compareRuns(upstream, milepost, by.comparable);
  const judgement = judge(findings, by.allowed);
  const doubtful = new Set(judgement.unexpected.map(({ says }) => says));
  if (doubtful.size === 0) return judgement;
  const again = Object.entries(cases).filter(([says]) => doubtful.has(says));
  const settled = findings.filter(({ says }) => !doubtful.has(says));
  const few = Object.fromEntries(again);
  const findingsAgain = compareRuns(
    await by.upstream(few, AT_ONCE.inDoubt),
    await by.milepost(few, AT_ONCE.inDoubt),
    by.comparable,
  );
  return judge([...settled, ...findingsAgain], by.allowed);
}
