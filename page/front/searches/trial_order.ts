/** Order of trials in their table, and why they were stopped in words. Pure. */
import { namesAsker } from "../../../platform/base/asked_by.ts";
import { naturalOrder } from "../../../platform/base/natural_order.ts";
import { isOpen, type Search, type Trial, type TrialStop } from "./search_answer.ts";
import type { SearchView } from "./search_view.ts";

/** Returns why a trial was stopped, in words; `seen`: what its curve says. */
export function stopWords({ by, text, rules, user }: TrialStop, seen: string): string {
  if (by === "request" && namesAsker(text, user)) return text;
  if (by === "request") return `${user || "a request"}: ${text}`;
  const said = text || seen;
  if (by === "pruner") return said;
  const all = rules.join(" and ");
  if (said !== "" && rules.length < 2) return `Its rule: ${said}`;
  if (said !== "") return `All of its rules: ${all}. Last: ${said}`;
  if (all === "") return "Unknown";
  return rules.length === 1 ? `Its rule: ${all}` : `All of its rules: ${all}`;
}

/** Returns how long a trial took, or takes so far; undefined if it is not known. */
export const tookMs = ({ startedMs, createdMs, endedMs, state }: Trial, nowMs: number) => {
  const from = startedMs ?? createdMs;
  const to = endedMs ?? (isOpen({ state }) ? nowMs : undefined);
  return from === undefined || to === undefined ? undefined : Math.max(0, to - from);
};

function compare(one: string | number | undefined, other: string | number | undefined): number {
  if (one === undefined || other === undefined) return 0;
  if (typeof one === "number" && typeof other === "number") return one - other;
  const [a, b] = [Number(one), Number(other)];
  if (one !== "" && other !== "" && !Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  return naturalOrder(String(one), String(other));
}

/** Returns the trials in the order of a column; those without a value come last in each order. */
export function sortedTrials(
  { trials, parameters, metrics, objective }: Pick<
    Search,
    "trials" | "parameters" | "metrics" | "objective"
  >,
  { sort, isDescending }: Pick<SearchView, "sort" | "isDescending">,
): readonly Trial[] {
  const [kind, name] = [sort.slice(0, 2), sort.slice(2)];
  const place = (kind === "p:" ? parameters.map((it) => it.name) : metrics).indexOf(name);
  const valueOf = (trial: Trial): string | number | undefined => {
    if (kind === "p:") return trial.values[place];
    if (kind === "m:") return trial.metrics[place];
    if (sort === "name") return trial.name;
    if (sort === "state") return trial.state;
    if (sort === "took") return tookMs(trial, Date.now());
    if (sort === "stop") return trial.stop && stopWords(trial.stop, "");
    if (sort === "created") return trial.createdMs;
    return trial.value;
  };
  // The best stands first by itself.
  const isTurned = sort === "value" && objective?.direction === "maximize";
  const sign = isDescending !== isTurned ? -1 : 1;
  return trials.map((trial) => ({ trial, value: valueOf(trial) })).sort((one, other) =>
    Number(one.value === undefined) - Number(other.value === undefined) ||
    sign * compare(one.value, other.value)
  ).map(({ trial }) => trial);
}
