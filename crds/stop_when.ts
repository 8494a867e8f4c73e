/** Parser of the annotation `trainer.kubeflow.org/stop-when`: conditions as people write them, one a line. */
import { jsonOfText } from "../platform/base/json.ts";
import {
  EARLY_STOPPING_RULES_MAX,
  isMetricName,
  isRuleValue,
  isStartStep,
  METRIC_NAME,
  PROBLEMS_MAX,
  type ReadAnnotation,
  type RULE_UNITS,
} from "./early_stopping.ts";
import type { FieldProblem } from "./field_problem.ts";

/** One line: when it holds, the job is stopped. */
export interface StopCondition {
  /** The number of the line, from 1. */
  readonly line: number;
  /** The metric. */
  readonly name: string;
  readonly comparison: "greater" | "less" | "atLeast" | "atMost" | "equal" | "nan";
  /** What reports are compared with, as it is written; absent for `nan`. */
  readonly value?: string;
  /** The first report or step that is tested; 0 without `after`. */
  readonly startStep: number;
  readonly unit: typeof RULE_UNITS[number];
}

/** Comparisons by their signs; `is` is that with NaN. */
const SIGNS: ReadonlyMap<string, StopCondition["comparison"]> = new Map([
  [">", "greater"],
  ["<", "less"],
  [">=", "atLeast"],
  ["<=", "atMost"],
  ["=", "equal"],
  ["==", "equal"],
  ["is", "nan"],
]);

/** What was expected at an index of a line. */
class PlaceError extends Error {
  constructor(expected: string, readonly index: number) {
    super(`expected ${expected}`);
  }
}

/** Reads a part of a line at its place, behind spaces. Throws a {@link PlaceError} if `read` returns undefined. */
type Take = <T>(part: RegExp, expected: string, read: (text: string) => T | undefined) => T;

function readerOf(line: string): Take {
  let index = 0;
  return (part, expected, read) => {
    const start = index + (/^\s*/.exec(line.slice(index))?.[0].length ?? 0);
    part.lastIndex = start;
    const text = part.exec(line)?.[0];
    const value = text === undefined ? undefined : read(text);
    if (value === undefined) throw new PlaceError(expected, start);
    index = part.lastIndex;
    return value;
  };
}

const [WORD, SIGN, END] = [/[^\s"<>=]+/y, /[<>]=?|==?|is(?!\S)/iy, /$/y];
/** A word, or what is quoted as in JSON. */
const NAME = /"(?:[^"\\]|\\.)*"|[^\s"<>=]+/y;
const AFTER = /after(?!\S)|$/iy;
const START = /step\s+\d{1,10}(?!\S)|\d{1,10}\s+(?:report|step)s?(?!\S)/iy;
const NAN = "nan: a number follows one of > < >= <= =";
const NUMBER = "a number, such as 10, 0.5 or 1e-3 (NaN is tested by: is nan)";
const OWN_LINE = "the end of the line: each condition has a line of its own";

/** Parses `NAME > VALUE` or `NAME is nan`, and `after …` behind it. Throws a {@link PlaceError}. */
function conditionOf(line: string): Omit<StopCondition, "line"> {
  const take = readerOf(line.trimEnd());
  const name = take(NAME, `${METRIC_NAME}, in double quotes if it has spaces`, (text) => {
    const name = text.startsWith('"') ? jsonOfText(text) : text;
    return typeof name === "string" && isMetricName(name) ? name : undefined;
  });
  const signs = "one of > < >= <= = or is";
  const comparison = take(SIGN, signs, (text) => SIGNS.get(text.toLowerCase()));
  const isNan = comparison === "nan";
  const value = take(
    WORD,
    isNan ? NAN : NUMBER,
    (text) => (isNan ? /^nan$/i.test(text) : isRuleValue(text)) ? text : undefined,
  );
  const compared = { name, comparison, ...(!isNan && { value }) };
  if (take(AFTER, `"after", or ${OWN_LINE}`, (text) => text) === "") {
    return { ...compared, startStep: 0, unit: "report" };
  }
  const start = take(START, "reports or steps, as in: after 5 reports, after step 1000", (text) => {
    const startStep = Number(/\d+/.exec(text)?.[0]);
    if (!isStartStep(startStep)) return undefined;
    return { startStep, unit: /step/i.test(text) ? "step" as const : "report" as const };
  });
  take(END, OWN_LINE, (text) => text);
  return { ...compared, ...start };
}

const NONE = `must be 1 to ${EARLY_STOPPING_RULES_MAX} lines such as: loss > 10 after 5 reports`;

/** Reads the annotation; a problem names the line and the character, and has the line as its value. */
export function readStopWhen(text: string): ReadAnnotation<readonly StopCondition[]> {
  const lines = text.split("\n")
    .map((content, index) => ({ content, line: index + 1 }))
    .filter(({ content }) => content.trim() !== "");
  if (lines.length < 1 || lines.length > EARLY_STOPPING_RULES_MAX) {
    return { ok: false, problems: [{ field: "", message: NONE }] };
  }
  const conditions: StopCondition[] = [];
  const problems: FieldProblem[] = [];
  for (const { content, line } of lines) {
    try {
      conditions.push({ line, ...conditionOf(content) });
    } catch (error) {
      if (!(error instanceof PlaceError)) throw error;
      const place = [...content.slice(0, error.index)].length + 1;
      const message = `line ${line}, character ${place}: ${error.message}`;
      problems.push({ field: "", value: content.trimEnd(), message });
    }
  }
  return problems.length === 0
    ? { ok: true, value: conditions }
    : { ok: false, problems: problems.slice(0, PROBLEMS_MAX) };
}
