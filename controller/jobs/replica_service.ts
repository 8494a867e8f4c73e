/** Service of a replica: headless, and with the name of its pod. */
import type { Service } from "../../platform/kube/kubernetes.ts";
import { trainingContainer } from "./defaults.ts";
import { metadataOf, replicaLabels, replicaSelector } from "./owner.ts";
import { type Replica, replicaName, type Run } from "./run.ts";

/** Returns the Service of a replica. */
export function serviceOf(run: Run, replica: Replica): Service {
  const ports = trainingContainer(run.kind, replica.of.template)?.ports ?? [];
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      ...metadataOf(run, replicaName(run, replica)),
      labels: replicaLabels(run, replica),
    },
    spec: {
      clusterIP: "None",
      selector: replicaSelector(run, replica),
      ports: ports.map(({ name, containerPort }) => ({
        ...(name !== undefined && { name }),
        port: containerPort,
      })),
    },
  };
}
