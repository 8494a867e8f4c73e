/**
 * Early stopping by rules, as Katib's sidecar applies them (kubeflow/katib:
 * cmd/metricscollector/v1beta1/file-metricscollector/main.go). Pure.
 */
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

/** The state of a trial's rules. Immutable: applying reports returns a new state. */
export interface RulesState {
  readonly objective?: Objective;
  /** The rules that have not been met. */
  readonly open: readonly StoppingRule[];
  /** The number of reports of each metric that a rule names. */
  readonly counts: ReadonlyMap<string, number>;
  /** The objective's best value so far. */
  readonly best?: number;
  /** The report that met the last rule: the trial is to be stopped. */
  readonly stopped?: MetRule;
}

/** The result of applying reports. */
export interface Applied {
  readonly state: RulesState;
  /** The rules that these reports met, in order. */
  readonly met: readonly MetRule[];
  /** Present if these reports met the last rule. */
  readonly stopped?: MetRule;
}

/**
 * Returns the state before the first report, and the problems of invalid rules. A trial stops when all its
 * rules were met, so without one of them the others would stop it too easily: then no rule is applied.
 */
export function startRules(
  objective: Objective | undefined,
  rules: readonly TrialRule[],
): { state: RulesState; problems: readonly RuleProblem[] } {
  const { rules: valid, problems } = readRules(rules);
  const open = problems.length === 0 ? valid : [];
  const counts = new Map(open.map(({ name }) => [name, 0]));
  return { state: { ...(objective && { objective }), open, counts }, problems };
}

/** Formats a value in Go's notation. */
function textOf(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}

/** Returns the better of two values of the objective. */
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

/** Applies one report of a metric that an open rule names. */
function applyOne(state: RulesState, { name, value: text }: Report, value: number): Applied {
  const { objective } = state;
  const step = (state.counts.get(name) ?? 0) + 1;
  const counts = new Map(state.counts).set(name, step);
  const isObjective = objective?.name === name;
  const best = isObjective ? better(objective, value, state.best) : state.best;
  const compared = isObjective ? best ?? value : value;
  const isLost = isObjective && isWorst(objective, compared);
  const isMet = (rule: StoppingRule) =>
    rule.name === name && (rule.startStep === 0 || rule.startStep === step) &&
    meets(rule, compared);
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
 * Applies reports in their order. A value that is not a number is not counted as a report. Nothing changes
 * after the last rule was met.
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

/** Returns the metrics of rules that were never reported. */
export function unreportedMetrics({ counts }: RulesState): string[] {
  return [...counts].filter(([, count]) => count === 0).map(([name]) => name);
}

const WORDS = { equal: "equal to", less: "less than", greater: "greater than" } as const;

/** Describes metric, value, rule and step, for events and answers. */
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
