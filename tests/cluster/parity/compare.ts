/** Comparison of two runs of the same cases, with the allowed differences. Pure. */
import { type Difference, differences } from "./differences.ts";
import type { Observation, Run } from "./perform.ts";

/** A difference, and where it was seen. */
export interface Finding extends Difference {
  readonly says: string;
  /** Number of the step, from 0. */
  readonly step: number;
}

/** A difference that stays, with the reason that the documentation gives. */
export interface Allowed {
  /** Short and stable; the documentation's row begins with it. */
  readonly id: string;
  /** The difference and the reason why it stays: a row of the documentation, word for word. */
  readonly why: string;
  /** Where it may be seen: the sentences of the cases; without it, in any. */
  readonly cases?: readonly string[];
  readonly path: RegExp;
  /** Upstream's own behaviour varies here: it need not happen. Default false. */
  readonly byChance?: boolean;
  /** What must hold of the two values beside. */
  readonly when?: (difference: Difference) => boolean;
}

/** Whether both sides were answered alike; where not, what follows is a consequence. */
function wentTheSameWay(one: Observation, other: Observation): boolean {
  const results = ({ answers }: Observation) => answers.map(({ result }) => result).join();
  return results(one) === results(other);
}

/** Every difference; of a step that was answered differently only the answers, and nothing after it. */
export function compareRuns(
  upstream: Run,
  milepost: Run,
  comparable: (observation: Observation) => unknown,
): Finding[] {
  const found: Finding[] = [];
  for (const [says, observations] of Object.entries(upstream)) {
    for (const [step, one] of observations.entries()) {
      const other = milepost[says]?.[step];
      if (other === undefined) throw new Error(`${says}: step ${step} was not performed`);
      const same = wentTheSameWay(one, other);
      const inStep = differences(comparable(one), comparable(other))
        .filter(({ path }) => same || path.startsWith("/answers"));
      found.push(...inStep.map((difference) => ({ ...difference, says, step })));
      if (!same) break;
    }
  }
  return found;
}

function isAllowedBy(finding: Finding, { cases, path, when }: Allowed): boolean {
  return (cases === undefined || cases.includes(finding.says)) && path.test(finding.path) &&
    (when === undefined || when(finding));
}

/** Result of the comparison of findings with the list. */
export interface Judgement {
  /** Differences that nothing allows. */
  readonly unexpected: readonly Finding[];
  /** Entries of the list that did not happen, with the case that did not show it where one is named. */
  readonly unused: readonly string[];
}

/** Judges: an entry that did not happen, in each case that it names, is as wrong as a difference. */
export function judge(findings: readonly Finding[], allowed: readonly Allowed[]): Judgement {
  const unexpected = findings.filter((finding) => !allowed.some((it) => isAllowedBy(finding, it)));
  const unused = allowed.filter(({ byChance }) => !byChance).flatMap((entry) => {
    const seen = new Set(findings.filter((it) => isAllowedBy(it, entry)).map(({ says }) => says));
    if (entry.cases === undefined) return seen.size === 0 ? [entry.id] : [];
    return entry.cases.filter((says) => !seen.has(says)).map((says) => `${entry.id}: ${says}`);
  });
  return { unexpected, unused };
}

/** A finding in a few lines. */
export function describe({ says, step, path, upstream, milepost }: Finding): string {
  const text = (value: unknown) => (JSON.stringify(value) ?? "nothing").slice(0, 600);
  return `${says}, step ${step}: ${path}\n  upstream: ${text(upstream)}\n  Milepost: ${
    text(milepost)
  }`;
}
