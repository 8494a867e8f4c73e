/**
 * A CustomResourceDefinition of Katib's Trial in our own words, for tests and for
 * clusters without Katib. Where Katib is installed its own is there already.
 */
import { stringify } from "yaml";
import { KATIB } from "./katib_names.ts";
import type { PrinterColumn } from "./manifests.ts";

const COLUMNS: readonly PrinterColumn[] = [
  { name: "Type", type: "string", jsonPath: ".status.conditions[-1:].type" },
  { name: "Status", type: "string", jsonPath: ".status.conditions[-1:].status" },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

/** The definition, as `kubectl apply` takes it: Katib's validates nothing, so neither does this. */
export function trialCrd() {
  const { group, version, trialKind: kind } = KATIB;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `trials.${group}` },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural: "trials",
        singular: "trial",
        categories: ["all", "kubeflow", "katib"],
      },
      scope: "Namespaced",
      versions: [{
        name: version,
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
        subresources: { status: {} },
        additionalPrinterColumns: [...COLUMNS],
      }],
    },
  } as const;
}

/** The definition as YAML, for `milepost crds --trials`. */
export function trialCrdYaml(): string {
  return stringify(trialCrd(), { aliasDuplicateObjects: false, lineWidth: 0 });
}
