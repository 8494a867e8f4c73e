/**
 * Early stopping by rules, as Katib's sidecar applies them (kubeflow/katib:
 * cmd/metricscollector/v1beta1/file-metricscollector/main.go). Pure.
 */
import { goNumber, readGoFloat } from "../../platform/base/go_float.ts";
import {
  type Comparison,
  isWorst,
  type MetRule,
  type Objective,
  type Report,
  type StoppingRule,
  type StopsAt,
  worstFinite,
} from "./rule.ts";

/** The state of a trial's rules. Immutable: applying reports returns a new state. */
export interface RulesState {
  readonly objective?: Objective;
  readonly stopsAt: StopsAt;
  /** The rules that have not been met. */
  readonly open: readonly StoppingRule[];
  /** The number of each rule that reports are compared with; NaN for `nan`. */
  readonly limits: ReadonlyMap<StoppingRule, number>;
  /** The rules with the unit `step` that were tested, and were not met. */
  readonly tested: ReadonlySet<StoppingRule>;
  /** The number of reports of each metric that a rule names. */
  readonly counts: ReadonlyMap<string, number>;
  /** The objective's best value so far. */
  readonly best?: number;
  /** The report that met the last rule, or the first where one is enough: the trial is to be stopped. */
  readonly stopped?: MetRule;
}

/** The result of applying reports. */
export interface Applied {
  readonly state: RulesState;
  /** The rules that these reports met, in order. */
  readonly met: readonly MetRule[];
}

/** Returns the state before the first report. */
export function startRules(
  objective: Objective | undefined,
  open: readonly StoppingRule[],
  stopsAt: StopsAt = "all",
): RulesState {
  const counts = new Map(open.map(({ name }) => [name, 0]));
  const limits = new Map(
    open.map((rule) => [rule, goNumber(rule.value ?? "")]),
  );
  return { ...(objective && { objective }), stopsAt, open, limits, tested: new Set(), counts };
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

function meets(value: number, comparison: Comparison, limit: number): boolean {
  switch (comparison) {
    case "equal":
      return value === limit;
    case "less":
      return value < limit;
    case "greater":
      return value > limit;
    case "atLeast":
      return value >= limit;
    case "atMost":
      return value <= limit;
    case "nan":
      return Number.isNaN(value);
  }
}

/** Returns whether a report is tested by a rule for its metric: the report with this number of the run. */
function isDue({ tested }: RulesState, rule: StoppingRule, number: number, step?: number): boolean {
  const { unit, startStep = 0, lasting = false } = rule;
  if (unit === "step") return step !== undefined && step >= startStep && !tested.has(rule);
  return startStep === 0 || startStep === number || (lasting && startStep < number);
}

/** Applies one report of a metric that an open rule names. */
function applyOne(state: RulesState, report: Report, value: number): Applied {
  const { objective } = state;
  const { name, value: text, step } = report;
  const number = (state.counts.get(name) ?? 0) + 1;
  const counts = new Map(state.counts).set(name, number);
  const isObjective = objective?.name === name;
  const best = isObjective ? better(objective, value, state.best) : state.best;
  const goesByBest = ({ compare, comparison }: StoppingRule) =>
    isObjective && compare !== "newest" && comparison !== "nan";
  const comparedBy = (rule: StoppingRule) => goesByBest(rule) ? best ?? value : value;
  const due = state.open.filter((rule) => rule.name === name && isDue(state, rule, number, step));
  const holds = due.filter((rule) =>
    meets(comparedBy(rule), rule.comparison, state.limits.get(rule) ?? NaN)
  );
  const met = holds.map((rule): MetRule => {
    const compared = comparedBy(rule);
    const isLost = isObjective && goesByBest(rule) && isWorst(objective, compared);
    return {
      rule,
      value: text,
      compared: textOf(isLost ? value : compared),
      step: rule.unit === "step" ? step ?? 0 : number,
      isLost,
    };
  });
  const open = met.length === 0 ? state.open : state.open.filter((rule) => !holds.includes(rule));
  const last = open.length === 0 ? met.at(-1) : undefined;
  const stopped = state.stopsAt === "any" ? met[0] : last;
  const missed = due.filter((rule) =>
    rule.unit === "step" && !rule.lasting && !holds.includes(rule)
  );
  const tested = missed.length === 0 ? state.tested : new Set([...state.tested, ...missed]);
  const known = { ...(best !== undefined && { best }), ...(stopped && { stopped }) };
  return { state: { ...state, open, tested, counts, ...known }, met };
}

/**
 * Applies reports in their order. A value that is not a number is not counted as a report. Nothing changes
 * once the stop is decided.
 */
export function applyReport(state: RulesState, reports: readonly Report[]): Applied {
  const met: MetRule[] = [];
  let current = state;
  for (const report of reports) {
    if (current.stopped !== undefined) break;
    const { value } = readGoFloat(report.value) ?? {};
    if (value === undefined || !current.open.some(({ name }) => name === report.name)) continue;
    const applied = applyOne(current, report, value);
    met.push(...applied.met);
    current = applied.state;
  }
  return { state: current, met };
}

/** Returns the metrics of rules that were never reported. */
export function unreportedMetrics({ counts }: RulesState): string[] {
  return [...counts].filter(([, count]) => count === 0).map(([name]) => name);
}

const WORDS = {
  equal: "equal to",
  less: "less than",
  greater: "greater than",
  atLeast: "at least",
  atMost: "at most",
} as const;

/** Describes metric, value, rule, and report or step, for events and answers. */
export function describeMet({ rule, value, compared, step, isLost }: MetRule): string {
  const at = `at ${rule.unit ?? "report"} ${step}`;
  if (rule.comparison === "nan") return `${rule.name} is NaN, ${at}`;
  const limit = `${WORDS[rule.comparison]} ${rule.value}`;
  if (isLost) {
    return `${rule.name} ${value} counts as the worst value (rule: ${limit}), ${at}`;
  }
  const best = readGoFloat(compared)?.value === readGoFloat(value)?.value
    ? ""
    : `, at best ${compared},`;
  return `${rule.name} ${value}${best} is ${limit}, ${at}`;
}
