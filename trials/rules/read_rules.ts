/** Parser of a Trial's early-stopping rules. */
import { readGoFloat } from "../../platform/base/go_float.ts";
import type { TrialRule } from "../../crds/trial.ts";
import { KATIB_COMPARISONS, type RuleProblem, type StoppingRule } from "./rule.ts";

/** Most characters of a value in a message. */
const SHOWN_MAX = 80;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "(none)";
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

/** Returns a clause that says what is wrong with the value of a rule; undefined if nothing is. */
function problemOf(value: unknown): string | undefined {
  if (typeof value !== "string") return `its value ${shown(value)} must be a number in a string`;
  const read = readGoFloat(value);
  if (read === undefined) return `its value ${shown(value)} is not a number`;
  return Number.isNaN(read.value) ? `its value ${shown(value)} cannot be compared` : undefined;
}

function readStartStep(value: unknown): number | string {
  if (value === undefined || value === null) return 0;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0
    ? value
    : `its startStep ${shown(value)} must be an integer of at least 0`;
}

/** Parses a rule. Returns it, or a clause that says what is wrong with it. */
function readRule(rule: TrialRule): StoppingRule | string {
  const { name, value } = rule;
  if (typeof name !== "string" || name === "") return "it names no metric";
  const comparison = KATIB_COMPARISONS.find((one) => one === rule.comparison);
  if (comparison === undefined) {
    return `its comparison ${shown(rule.comparison)} must be one of ${
      KATIB_COMPARISONS.join(", ")
    }`;
  }
  const problem = problemOf(value);
  if (problem !== undefined) return problem;
  const startStep = readStartStep(rule.startStep);
  if (typeof startStep === "string") return startStep;
  return { name, value: String(value), comparison, startStep };
}

/**
 * Parses rules. Returns them in their order, and the problems of invalid ones. A trial stops when all its rules were
 * met, so without one of them the others would stop it too easily: then there is none.
 */
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
  return { rules: problems.length === 0 ? good : [], problems };
}
