/** CustomResourceDefinition of kept logs, which only `standalone` installs. */
import { KINDS } from "./kinds.ts";
import { COLUMNS, type CustomResourceDefinition, definitionOf } from "./manifests.ts";

/** Returns the definition. Its objects are written by the kubelet alone, so that it validates nothing. */
export function keptLogCrd(): CustomResourceDefinition {
  return definitionOf(KINDS.keptLog, {
    schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    columns: [
      { name: "Pod", type: "string", jsonPath: ".spec.pod.metadata.name" },
      COLUMNS.age,
    ],
  });
}
