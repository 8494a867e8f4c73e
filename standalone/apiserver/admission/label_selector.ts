/** `metav1.LabelSelector` as webhook configurations have it. */
import { asObjects, asTexts, at, textAt, textMapAt } from "../../../crds/json.ts";

type Labels = Readonly<Record<string, string>>;

/** Whether the labels fit the selector; an empty or missing selector fits everything. */
export function selectorMatches(selector: unknown, labels: Labels): boolean {
  const equal = Object.entries(textMapAt(selector, "matchLabels"))
    .every(([key, value]) => labels[key] === value);
  return equal &&
    asObjects(at(selector, "matchExpressions")).every((it) => expressionMatches(it, labels));
}

function expressionMatches(expression: unknown, labels: Labels): boolean {
  const value = labels[textAt(expression, "key") ?? ""];
  const values = asTexts(at(expression, "values"));
  switch (textAt(expression, "operator")) {
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
