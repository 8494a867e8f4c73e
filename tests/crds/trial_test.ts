/** Tests of `trialSchema`: the fields that are read of a Trial. */
import assert from "node:assert/strict";
import { trialSchema } from "../../crds/trial.ts";

Deno.test("trialSchema keeps rules with missing fields, as Katib leaves out a start step of 0", () => {
  const rules = [{ name: "loss", value: "0.5", comparison: "less" }, {}];
  const trial = trialSchema.parse({
    apiVersion: "kubeflow.org/v1beta1",
    kind: "Trial",
    metadata: { name: "t" },
    spec: { earlyStoppingRules: rules },
  });
  assert.deepEqual(trial.spec?.earlyStoppingRules, rules);
});

Deno.test("trialSchema keeps a place for a rule of another shape, so that it counts as invalid", () => {
  const rule = { name: "loss", value: "0.5", comparison: "less" };
  const trial = trialSchema.parse({
    apiVersion: "kubeflow.org/v1beta1",
    kind: "Trial",
    metadata: { name: "t" },
    spec: { earlyStoppingRules: [rule, "loss < 0.1", null] },
  });
  assert.deepEqual(trial.spec?.earlyStoppingRules, [rule, {}, {}]);
});
