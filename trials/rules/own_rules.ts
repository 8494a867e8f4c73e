/** Rules of a job's own, which its annotations say in one of two spellings. Pure. */
import { type ReadAnnotation, readCompared, readEarlyStopping } from "../../crds/early_stopping.ts";
import type { FieldProblem } from "../../crds/field_problem.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import { readStopWhen } from "../../crds/stop_when.ts";
import type { Objective, StoppingRule, StopsAt } from "./rule.ts";

/** The rules, and how they are applied. */
export interface OwnRules {
  /** Absent where nothing says which values are better. */
  readonly objective?: Objective;
  readonly rules: readonly StoppingRule[];
  readonly stopsAt: StopsAt;
  /** The place of each rule in the annotation, such as `rules[0]` or `line 1`. */
  readonly places: readonly string[];
}

/** The rules of one annotation, or what is wrong with them. */
export interface ReadOwnRules {
  /** Empty: the job has none. */
  readonly annotation: string;
  readonly own?: OwnRules;
  readonly problems: readonly FieldProblem[];
}

/** What is said of a job with both annotations. */
export const TWO_SPELLINGS =
  `the job has rules in ${ANNOTATIONS.earlyStopping} as well: keep one of the two annotations`;

function readAs<T>(
  annotation: string,
  read: ReadAnnotation<T>,
  own: (value: T) => OwnRules,
): ReadOwnRules {
  if (!read.ok) return { annotation, problems: read.problems };
  return { annotation, own: own(read.value), problems: [] };
}

/**
 * Reads the rules of a job with these annotations. One in JSON that does not say what it compares goes by what
 * admission wrote beside them; without that the job is older, or no webhook saw it, and the objective's best so far
 * is compared.
 */
export function readOwnRules(
  annotations: Readonly<Record<string, string>> = {},
): ReadOwnRules {
  const { earlyStopping, earlyStoppingCompare, stopWhen } = ANNOTATIONS;
  const [json, lines] = [annotations[earlyStopping], annotations[stopWhen]];
  if (json !== undefined && lines !== undefined) {
    return { annotation: stopWhen, problems: [{ field: "", message: TWO_SPELLINGS }] };
  }
  if (json !== undefined) {
    const otherwise = readCompared(annotations[earlyStoppingCompare] ?? "best");
    const compare = otherwise.ok ? otherwise.value : "best";
    return readAs(earlyStopping, readEarlyStopping(json), ({ objective, rules }) => ({
      objective,
      rules: rules.map((rule) => ({ compare, ...rule })),
      stopsAt: "all",
      places: rules.map((_, index) => `rules[${index}]`),
    }));
  }
  if (lines === undefined) return { annotation: "", problems: [] };
  return readAs(stopWhen, readStopWhen(lines), (conditions) => ({
    rules: conditions.map(({ line: _, ...rule }) => ({
      compare: "newest",
      lasting: true,
      ...rule,
    })),
    stopsAt: "any",
    places: conditions.map(({ line }) => `line ${line}`),
  }));
}
