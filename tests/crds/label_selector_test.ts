/** Tests of `crds/label_selector.ts`. */
import { deepEqual, equal, match } from "node:assert/strict";
import { labelsOfText, meetsSelector } from "../../crds/label_selector.ts";
import type { LabelSelector } from "../../platform/kube/kubernetes.ts";

const labels = { app: "web", tier: "a" };
const expression = (key: string, operator: string, ...values: string[]): LabelSelector => ({
  matchExpressions: [{ key, operator, values }],
});

const cases: Record<string, { selector: LabelSelector; want: boolean }> = {
  "an empty selector": { selector: {}, want: true },
  "labels that are there": { selector: { matchLabels: { app: "web" } }, want: true },
  "a label of another value": { selector: { matchLabels: { app: "db" } }, want: false },
  "a label that is missing": { selector: { matchLabels: { zone: "" } }, want: false },
  "In with the value": { selector: expression("tier", "In", "a", "b"), want: true },
  "In without the value": { selector: expression("tier", "In", "b"), want: false },
  "In of a missing label": { selector: expression("zone", "In", "a"), want: false },
  "NotIn with the value": { selector: expression("tier", "NotIn", "a"), want: false },
  "NotIn of a missing label": { selector: expression("zone", "NotIn", "a"), want: true },
  "Exists": { selector: expression("app", "Exists"), want: true },
  "Exists of a missing label": { selector: expression("zone", "Exists"), want: false },
  "Exists of what every object inherits": {
    selector: expression("constructor", "Exists"),
    want: false,
  },
  "DoesNotExist": { selector: expression("app", "DoesNotExist"), want: false },
  "DoesNotExist of a missing label": { selector: expression("zone", "DoesNotExist"), want: true },
  "an unknown operator": { selector: expression("app", "Like", "web"), want: false },
  "labels and an expression, one of them not met": {
    selector: { matchLabels: { app: "web" }, ...expression("tier", "In", "b") },
    want: false,
  },
};
for (const [sentence, { selector, want }] of Object.entries(cases)) {
  Deno.test(`meetsSelector() of ${sentence} is ${want}`, () => {
    equal(meetsSelector(labels, selector), want);
  });
}

const texts: Record<string, Record<string, string> | RegExp> = {
  "sweep=7": { sweep: "7" },
  "sweep==7": { sweep: "7" },
  " team=vision , sweep=7 ": { team: "vision", sweep: "7" },
  "katib.kubeflow.org/experiment=a": { "katib.kubeflow.org/experiment": "a" },
  "sweep=": { sweep: "" },
  "": /key=value/,
  "sweep": /key=value/,
  "a=1,": /key=value/,
  "=1": /key=value/,
  "a=b=c": /key=value/,
  "a==b=c": /key=value/,
  "sweep!=7": /must consist of alphanumeric/,
  "sweep in (7)": /key=value/,
  "sweep=a b": /a valid label must be/,
  "__proto__=1": /must consist of alphanumeric/,
  "a=1,a=1": /names a twice/,
};
for (const [text, want] of Object.entries(texts)) {
  Deno.test(`labelsOfText() reads "${text}", or says what is wrong`, () => {
    const read = labelsOfText(text);
    if (want instanceof RegExp) match("problem" in read ? read.problem : "", want);
    else deepEqual(read, { labels: want });
  });
}
