/** Label selectors: whether labels meet their requirements (`metav1.LabelSelector`). */
import type { LabelSelector } from "../platform/kube/kubernetes.ts";

/** Labels of an object. */
type Labels = Readonly<Record<string, string>>;

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
