/** Tests of the CRD of Trials: Katib's names and columns, and its loose schema. */
import { deepEqual, equal } from "node:assert/strict";
import { parse } from "yaml";
import { trialCrd, trialCrdYaml } from "../../crds/trial_manifest.ts";

Deno.test("`trialCrd()` is served as Katib serves Trials", () => {
  const { metadata, spec } = trialCrd();
  equal(metadata.name, "trials.kubeflow.org");
  equal(spec.scope, "Namespaced");
  deepEqual(spec.names.categories, ["all", "kubeflow", "katib"]);
  equal("shortNames" in spec.names, false);
  const [version] = spec.versions;
  equal(version?.name, "v1beta1");
  deepEqual(version?.subresources, { status: {} });
  deepEqual(version?.schema.openAPIV3Schema, {
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
  });
  deepEqual(version?.additionalPrinterColumns?.map(({ name, jsonPath }) => [name, jsonPath]), [
    ["Type", ".status.conditions[-1:].type"],
    ["Status", ".status.conditions[-1:].status"],
    ["Age", ".metadata.creationTimestamp"],
  ]);
});

Deno.test("`trialCrdYaml()` is one document, the same object", () => {
  deepEqual(parse(trialCrdYaml()), trialCrd());
});
