/** Rows of a sample's metrics, and warnings about the metrics that are not recorded. Pure. */
import { hash } from "node:crypto";
import { readGoFloat } from "../../platform/base/go_float.ts";
import { isWorst, type Objective, type Report, worstFinite } from "../rules/rule.ts";
import type { RecordScope } from "./pod_sample.ts";

/** Names and values of rows. */
export type Content = readonly Report[];

/** Hexadecimal digits of the hash that are kept, as integers below 2^48. */
const DIGEST_DIGITS = 12;

/** Returns the value as it is logged: always a finite number for the objective. */
function logged({ name, value }: Report, number: number, objective: Objective | undefined): Report {
  if (objective?.name !== name || !isWorst(objective, number)) return { name, value };
  return { name, value: String(worstFinite(objective)) };
}

/** What a log has of an objective that was no finite number. */
const WORST: ReadonlySet<string> = new Set([`${Number.MAX_VALUE}`, `-${Number.MAX_VALUE}`]);

/** Returns the logged value as it is shown: what the worst finite number stands for was NaN or infinite. */
export function shownText(value: string): string {
  return WORST.has(value) ? "NaN" : value;
}

/**
 * Selects the values of a sample that are in the scope; of a repeated name the last, with a warning. `content` is what is
 * recorded, and `reports` are the same values as they were pushed.
 */
export function contentOf(scope: RecordScope, metrics: readonly Report[]) {
  const { objective, names } = scope;
  const byName = new Map<string, Report>();
  const warnings: string[] = [];
  for (const metric of metrics) {
    if (names !== undefined && !names.has(metric.name)) continue;
    if (byName.has(metric.name)) {
      warnings.push(`metric ${metric.name} was sent more than once: its last value is recorded`);
    }
    byName.set(metric.name, metric);
  }
  const content: Report[] = [];
  const reports: Report[] = [];
  for (const metric of byName.values()) {
    const number = readGoFloat(metric.value)?.value;
    if (number === undefined) {
      const value = JSON.stringify(metric.value);
      warnings.push(`metric ${metric.name}: ${value} is not a number and is not recorded`);
      continue;
    }
    const row = logged(metric, number, objective);
    if (row.value !== metric.value) {
      warnings.push(
        `metric ${metric.name}: ${metric.value} counts as the worst value and is recorded as ${row.value}`,
      );
    }
    content.push(row);
    reports.push({ name: metric.name, value: metric.value });
  }
  return { content, reports, warnings };
}

/** Returns a digest of content in any order, together with `marks`. */
export function digestOf(content: Content, ...marks: readonly string[]): number {
  const texts = content.map(({ name, value }) => JSON.stringify([name, value])).sort();
  const digest = hash("sha256", JSON.stringify([texts, marks]), "hex");
  return Number.parseInt(digest.slice(0, DIGEST_DIGITS), 16);
}
