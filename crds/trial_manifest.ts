/**
 * A CustomResourceDefinition of Katib's Trial in our own words, for tests and for
 * clusters without Katib. Where Katib is installed its own is there already.
 */
import { KINDS } from "./kinds.ts";
import { COLUMNS, crdYaml, type CustomResourceDefinition, definitionOf } from "./manifests.ts";

/** The definition, as `kubectl apply` takes it: Katib's validates nothing, so neither does this. */
export function trialCrd(): CustomResourceDefinition {
  return definitionOf(KINDS.trial, {
    schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    subresources: { status: {} },
    columns: [
      { name: "Type", type: "string", jsonPath: ".status.conditions[-1:].type" },
      { name: "Status", type: "string", jsonPath: ".status.conditions[-1:].status" },
      COLUMNS.age,
    ],
    categories: ["all", "kubeflow", "katib"],
  });
}

/** The definition as YAML, for `milepost crds --trials`. */
export function trialCrdYaml(): string {
  return crdYaml([trialCrd()]);
}
