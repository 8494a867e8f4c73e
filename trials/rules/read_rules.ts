/** Parser of early-stopping rules. */
import { RULE_UNITS } from "../../crds/early_stopping.ts";
import { readGoFloat } from "../../platform/base/go_float.ts";
import type { TrialRule } from "../../crds/trial.ts";
import {
  type Comparison,
  COMPARISONS,
  KATIB_COMPARISONS,
  type RuleProblem,
  type StoppingRule,
} from "./rule.ts";

/** Most characters of a value in a message. */
const SHOWN_MAX = 80;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "(none)";
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

function readValue(
  value: unknown,
  comparison: Comparison,
): { value: number; text: string } | string {
  if (comparison === "nan") return { value: NaN, text: "NaN" };
  if (typeof value !== "string") return `its value ${shown(value)} must be a number in a string`;
  const read = readGoFloat(value);
  if (read === undefined) return `its value ${shown(value)} is not a number`;
  if (Number.isNaN(read.value)) return `its value ${shown(value)} cannot be compared`;
  return { value: read.value, text: value };
}

function readStartStep(value: unknown): number | string {
  if (value === undefined || value === null) return 0;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0
    ? value
    : `its startStep ${shown(value)} must be an integer of at least 0`;
}

/** Parses the unit of a rule with this start step. Returns it, or a clause that says what is wrong with it. */
function readUnit(
  { unit, startStep }: TrialRule,
): { readonly unit?: "step" } | string {
  if (unit === undefined || unit === null || unit === "report") return {};
  if (unit !== "step") return `its unit ${shown(unit)} must be one of ${RULE_UNITS.join(", ")}`;
  return typeof startStep === "number" ? { unit } : "its unit step requires a startStep";
}

/** Parses a rule. Returns it, or a clause that says what is wrong with it. */
function readRule(rule: TrialRule): StoppingRule | string {
  const { name, compare, lasting } = rule;
  if (typeof name !== "string" || name === "") return "it names no metric";
  const known: readonly Comparison[] = compare === undefined ? KATIB_COMPARISONS : COMPARISONS;
  const comparison = known.find((one) => one === rule.comparison);
  if (comparison === undefined) {
    return `its comparison ${shown(rule.comparison)} must be one of ${known.join(", ")}`;
  }
  const value = readValue(rule.value, comparison);
  if (typeof value === "string") return value;
  const startStep = readStartStep(rule.startStep);
  if (typeof startStep === "string") return startStep;
  const unit = readUnit(rule);
  if (typeof unit === "string") return unit;
  return {
    name,
    ...value,
    comparison,
    startStep,
    ...unit,
    ...((compare === "newest" || comparison === "nan") && { isNewest: true }),
    ...(lasting === true && { isLasting: true }),
  };
}

/** Parses rules. Returns the valid ones in their order, and the problems of the others. */
export function readRules(
  rules: readonly TrialRule[],
): { rules: readonly StoppingRule[]; problems: readonly RuleProblem[] } {
  const good: StoppingRule[] = [];
  const problems: RuleProblem[] = [];
  for (const [index, rule] of rules.entries()) {
    const read = readRule(rule);
    if (typeof read !== "string") good.push(read);
    else {
      const name = typeof rule.name === "string" ? rule.name : shown(rule.name);
      problems.push({ index, rule: name, why: read });
    }
  }
  return { rules: good, problems };
}
