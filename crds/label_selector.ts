/** Label selectors: whether labels meet their requirements (`metav1.LabelSelector`). */
import type { LabelSelector } from "../platform/kube/kubernetes.ts";

import { labelValue, qualifiedName } from "./name_syntax.ts";

/** Labels of an object. */
export type Labels = Readonly<Record<string, string>>;

/** A requirement of one label: `In`, `NotIn`, `Exists` or `DoesNotExist`. */
export type LabelRequirement = NonNullable<LabelSelector["matchExpressions"]>[number];

/** Says whether labels meet a requirement; an unknown operator is never met. */
export function meetsRequirement(labels: Labels, requirement: LabelRequirement): boolean {
  const { key, operator, values = [] } = requirement;
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}

/** Says whether labels have all the wanted ones, each with its value. */
export function hasLabels(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}

/** Says whether labels meet all requirements of a selector; an empty one selects everything. */
export function meetsSelector(
  labels: Labels,
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
): boolean {
  return hasLabels(labels, matchLabels) &&
    matchExpressions.every((requirement) => meetsRequirement(labels, requirement));
}

/** Reads a selector of labels and their values, as `key=value,…`; returns what is wrong with it otherwise. */
export function labelsOfText(text: string): { labels: Labels } | { problem: string } {
  const labels: Record<string, string> = {};
  for (const part of text.split(",")) {
    const [, key = "", value = ""] = /^([^=]*?)==?([^=]*)$/.exec(part.trim()) ?? [];
    if (key === "") return { problem: "must be key=value, or several of them joined by commas" };
    const [problem] = [...qualifiedName(key), ...labelValue(value)];
    if (problem !== undefined) return { problem };
    if (Object.hasOwn(labels, key)) return { problem: `names ${key} twice` };
    labels[key] = value;
  }
  return { labels };
}
