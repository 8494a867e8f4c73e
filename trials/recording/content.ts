/** What of a sample becomes rows, and what is left out with a word. Pure. */
import { hash } from "node:crypto";
import { readGoFloat } from "../../crds/go_float.ts";
import { isWorst, type Objective, type Report, worstFinite } from "../rules/rule.ts";
import type { RecordScope } from "./sample.ts";

/** Name and value of a row. */
export type Content = readonly Report[];

/** A sample's part in the log. */
export interface SampleContent {
  /** Each name once. */
  readonly content: Content;
  /** The same values as they were pushed. */
  readonly reports: readonly Report[];
  readonly warnings: readonly string[];
}

/** Hexadecimal digits of the hash that are kept: whole numbers below 2^48. */
const DIGEST_DIGITS = 12;

/** The value as the log has it: of the objective always a finite number. */
function logged({ name, value }: Report, number: number, objective: Objective | undefined): Report {
  if (objective?.name !== name || !isWorst(objective, number)) return { name, value };
  return { name, value: String(worstFinite(objective)) };
}

/** The values of a sample that the scope takes, where a name comes twice the last; with a warning each. */
export function contentOf(scope: RecordScope, metrics: readonly Report[]): SampleContent {
  const { objective, names } = scope;
  const byName = new Map<string, Report>();
  const warnings: string[] = [];
  for (const metric of metrics) {
    if (names !== undefined && !names.has(metric.name)) continue;
    if (byName.has(metric.name)) {
      warnings.push(`metric ${metric.name} comes more than once: the last value is recorded`);
    }
    byName.set(metric.name, metric);
  }
  const content: Report[] = [];
  const reports: Report[] = [];
  for (const metric of byName.values()) {
    const number = readGoFloat(metric.value)?.value;
    if (number === undefined) {
      const value = JSON.stringify(metric.value);
      warnings.push(`metric ${metric.name}: ${value} is no number, and is not recorded`);
      continue;
    }
    const row = logged(metric, number, objective);
    if (row.value !== metric.value) {
      warnings.push(
        `metric ${metric.name}: ${metric.value} counts as the worst value, and is recorded as ${row.value}`,
      );
    }
    content.push(row);
    reports.push({ name: metric.name, value: metric.value });
  }
  return { content, reports, warnings };
}

/** Tells content from other content, whatever the order; `marks` are told apart, too. */
export function digestOf(content: Content, ...marks: readonly string[]): number {
  const texts = content.map(({ name, value }) => JSON.stringify([name, value])).sort();
  const digest = hash("sha256", JSON.stringify([texts, marks]), "hex");
  return Number.parseInt(digest.slice(0, DIGEST_DIGITS), 16);
}
