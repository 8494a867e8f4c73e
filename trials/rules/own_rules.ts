/** Rules of a job's own, which its annotations say in one of two spellings. Pure. */
import { readCompared, readEarlyStopping } from "../../crds/early_stopping.ts";
import type { FieldProblem } from "../../crds/field_problem.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import { readStopWhen } from "../../crds/stop_when.ts";
import type { TrialRule } from "../../crds/trial.ts";
import type { Objective, StopsAt } from "./rule.ts";

/** The rules, and how they are applied. */
export interface OwnRules {
  /** Absent where nothing says which values are better. */
  readonly objective?: Objective;
  readonly rules: readonly TrialRule[];
  readonly stopsAt: StopsAt;
  /** The place of each rule in the annotation, such as `rules[0]` or `line 1`. */
  readonly places: readonly string[];
}

/** The rules of one annotation, or what is wrong with them. */
export interface ReadOwnRules {
  readonly annotation: string;
  readonly own?: OwnRules;
  readonly problems: readonly FieldProblem[];
}

/** What is said of a job with both annotations. */
export const TWO_SPELLINGS =
  `the job has rules in ${ANNOTATIONS.earlyStopping} as well: keep one of the two annotations`;

/**
 * Returns the rules of the JSON annotation. One that does not say what it compares goes by what admission wrote
 * beside it; without that the job is older, or no webhook saw it, and the objective's best so far is compared.
 */
function readJsonRules(text: string, compare: string | undefined): ReadOwnRules {
  const annotation = ANNOTATIONS.earlyStopping;
  const read = readEarlyStopping(text);
  if (!read.ok) return { annotation, problems: read.problems };
  const otherwise = compare === undefined ? undefined : readCompared(compare);
  const compared = otherwise?.ok ? otherwise.value : "best";
  const { objective, rules } = read.value;
  const own: OwnRules = {
    objective,
    rules: rules.map((rule) => ({ compare: compared, ...rule })),
    stopsAt: "all",
    places: rules.map((_, index) => `rules[${index}]`),
  };
  return { annotation, own, problems: [] };
}

function readLines(text: string): ReadOwnRules {
  const annotation = ANNOTATIONS.stopWhen;
  const read = readStopWhen(text);
  if (!read.ok) return { annotation, problems: read.problems };
  const own: OwnRules = {
    rules: read.value.map(({ line: _, ...rule }) => ({
      ...rule,
      compare: "newest",
      lasting: true,
    })),
    stopsAt: "any",
    places: read.value.map(({ line }) => `line ${line}`),
  };
  return { annotation, own, problems: [] };
}

/** Reads the rules of a job with these annotations; undefined if it has none. */
export function readOwnRules(
  annotations: Readonly<Record<string, string>> = {},
): ReadOwnRules | undefined {
  const {
    [ANNOTATIONS.earlyStopping]: json,
    [ANNOTATIONS.earlyStoppingCompare]: compare,
    [ANNOTATIONS.stopWhen]: lines,
  } = annotations;
  if (lines === undefined) return json === undefined ? undefined : readJsonRules(json, compare);
  if (json === undefined) return readLines(lines);
  const problems = [{ field: "", message: TWO_SPELLINGS }];
  return { annotation: ANNOTATIONS.stopWhen, problems };
}
