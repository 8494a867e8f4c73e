/** Early stopping: applies rules to what is reported (contract katib.md 5.3). Pure. */
import { readGoFloat } from "../../crds/go_float.ts";
import type { TrialRule } from "../../crds/trial.ts";
import { readRules } from "./read_rules.ts";
import {
  isWorst,
  type MetRule,
  type Objective,
  type Report,
  type RuleProblem,
  type StoppingRule,
  worstFinite,
} from "./rule.ts";

/** What is known of a trial's rules. A value: applying reports makes another. */
export interface RulesState {
  readonly objective?: Objective;
  /** Those that were not met yet. */
  readonly open: readonly StoppingRule[];
  /** Reports of each metric that a rule names. */
  readonly counts: ReadonlyMap<string, number>;
  /** The objective's best value so far. */
  readonly best?: number;
  /** What met the last rule: from then on the trial is to be stopped. */
  readonly stopped?: MetRule;
}

/** What became of reports. */
export interface Applied {
  readonly state: RulesState;
  /** The rules that these reports met, in order. */
  readonly met: readonly MetRule[];
  /** Present where these reports met the last rule. */
  readonly stopped?: MetRule;
}

/** The state before the first report. Rules that cannot be applied are told, and left out. */
export function startRules(
  objective: Objective | undefined,
  rules: readonly TrialRule[],
): { state: RulesState; problems: readonly RuleProblem[] } {
  const { rules: open, problems } = readRules(rules);
  const counts = new Map(open.map(({ name }) => [name, 0]));
  return { state: { ...(objective && { objective }), open, counts }, problems };
}

/** A value as a message shows it, in Go's notation. */
function textOf(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}

/** The better of two values of the objective. */
function better(objective: Objective, value: number, best: number | undefined): number {
  if (isWorst(objective, value)) return best ?? worstFinite(objective);
  if (best === undefined) return value;
  return objective.type === "minimize" ? Math.min(best, value) : Math.max(best, value);
}

function meets(rule: StoppingRule, value: number): boolean {
  switch (rule.comparison) {
    case "equal":
      return value === rule.value;
    case "less":
      return value < rule.value;
    case "greater":
      return value > rule.value;
  }
}

/** One report of a metric that an open rule names. */
function applyOne(state: RulesState, { name, value: text }: Report, value: number): Applied {
  const { objective } = state;
  const step = (state.counts.get(name) ?? 0) + 1;
  const counts = new Map(state.counts).set(name, step);
  const isObjective = objective?.name === name;
  const best = isObjective ? better(objective, value, state.best) : state.best;
  const compared = isObjective ? best ?? value : value;
  // Such a trial is to be stopped, however good it was before.
  const isLost = isObjective && isWorst(objective, value);
  const isMet = (rule: StoppingRule) =>
    rule.name === name && (rule.startStep === 0 || rule.startStep === step) &&
    (isLost || meets(rule, compared));
  const met = state.open.filter(isMet).map((rule): MetRule => ({
    rule,
    value: text,
    compared: textOf(isLost ? value : compared),
    step,
    isLost,
  }));
  const open = met.length === 0 ? state.open : state.open.filter((rule) => !isMet(rule));
  const stopped = open.length === 0 ? met.at(-1) : undefined;
  const next = { ...state, open, counts, ...(best !== undefined && { best }) };
  return stopped === undefined
    ? { state: next, met }
    : { state: { ...next, stopped }, met, stopped };
}

/**
 * Applies reports in their order. What is no number was reported to nobody: it is not counted. Once the
 * trial is stopped nothing changes any more.
 */
export function applyReport(state: RulesState, reports: readonly Report[]): Applied {
  const met: MetRule[] = [];
  let current = state;
  for (const report of reports) {
    const { value } = readGoFloat(report.value) ?? {};
    if (value === undefined || !current.open.some(({ name }) => name === report.name)) continue;
    const applied = applyOne(current, report, value);
    met.push(...applied.met);
    current = applied.state;
    if (applied.stopped) return { ...applied, met };
  }
  return { state: current, met };
}

/** The metrics of rules that nobody has reported: at the job's end they are to be told. */
export function unreportedMetrics({ counts }: RulesState): string[] {
  return [...counts].filter(([, count]) => count === 0).map(([name]) => name);
}

const WORDS = { equal: "equal to", less: "less than", greater: "greater than" } as const;

/** Metric, value, rule and step, as events and answers say them. */
export function describeMet({ rule, value, compared, step, isLost }: MetRule): string {
  const limit = `${WORDS[rule.comparison]} ${rule.text}`;
  if (isLost) {
    return `${rule.name} ${value} counts as the worst value (rule: ${limit}), at report ${step}`;
  }
  const best = readGoFloat(compared)?.value === readGoFloat(value)?.value
    ? ""
    : `, at best ${compared},`;
  return `${rule.name} ${value}${best} is ${limit}, at report ${step}`;
}
