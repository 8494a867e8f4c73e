/** Tests of the check that Katib's webhook is kept away from the pods of trials. */
import assert from "node:assert/strict";
import { KATIB_KEPT_OUT } from "../../crds/katib_names.ts";
import { katibKeepsOut } from "../../webhook/katib_exclusion.ts";

const PODS = [{
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE"],
  resources: ["pods"],
}];
const EXPERIMENTS = [{
  apiGroups: ["kubeflow.org"],
  apiVersions: ["v1beta1"],
  operations: ["CREATE", "UPDATE"],
  resources: ["experiments"],
}];
const KATIBS_OWN = {
  name: "exclude-katib-controller",
  expression: "request.userInfo.username != 'system:serviceaccount:kubeflow:katib-controller'",
};

function webhook(name: string, more: object = {}) {
  return {
    name,
    admissionReviewVersions: ["v1"],
    clientConfig: {},
    sideEffects: "None",
    rules: PODS,
    matchConditions: [KATIBS_OWN],
    ...more,
  };
}

const LABEL = "trainer.kubeflow.org/trial";
const patched = { matchConditions: [KATIBS_OWN, KATIB_KEPT_OUT] };
const selecting = (key: string, operator: string) => ({
  objectSelector: { matchExpressions: [{ key, operator }] },
});

const CASES: Record<string, { webhooks?: object[]; keepsOut: boolean }> = {
  "as Katib installs it": { webhooks: [webhook("pods")], keepsOut: false },
  "with the shipped condition": { webhooks: [webhook("pods", patched)], keepsOut: true },
  "with the condition under another name, spaced and quoted otherwise": {
    webhooks: [webhook("pods", {
      matchConditions: [{
        name: "ours",
        expression: `!has(object.metadata.labels)||\n  !('${LABEL}' in object.metadata.labels)`,
      }],
    })],
    keepsOut: true,
  },
  "with a condition about another label": {
    webhooks: [webhook("pods", {
      matchConditions: [{
        name: KATIB_KEPT_OUT.name,
        expression: KATIB_KEPT_OUT.expression.replaceAll("trial", "other"),
      }],
    })],
    keepsOut: false,
  },
  "with the condition turned round": {
    webhooks: [webhook("pods", {
      matchConditions: [{ name: "ours", expression: `!(${KATIB_KEPT_OUT.expression})` }],
    })],
    keepsOut: false,
  },
  "with a selector of objects without the label": {
    webhooks: [webhook("pods", selecting(LABEL, "DoesNotExist"))],
    keepsOut: true,
  },
  "with a selector of objects that have the label": {
    webhooks: [webhook("pods", selecting(LABEL, "Exists"))],
    keepsOut: false,
  },
  "with the condition at one of two webhooks for pods": {
    webhooks: [webhook("pods", patched), webhook("more-pods")],
    keepsOut: false,
  },
  "with a webhook for everything": {
    webhooks: [webhook("all", {
      rules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] }],
    })],
    keepsOut: false,
  },
  "with a webhook for experiments only": {
    webhooks: [webhook("experiments", { rules: EXPERIMENTS })],
    keepsOut: true,
  },
  "without webhooks": { webhooks: [], keepsOut: true },
  "without a list of webhooks": { keepsOut: true },
};

for (const [name, { webhooks, keepsOut }] of Object.entries(CASES)) {
  Deno.test(`\`katibKeepsOut()\` judges a configuration ${name}`, () => {
    const configuration = JSON.parse(JSON.stringify({ webhooks }));
    assert.equal(katibKeepsOut(configuration), keepsOut);
  });
}

Deno.test("`katibKeepsOut()` is true if Katib has no webhook", () => {
  assert.equal(katibKeepsOut(undefined), true);
});
