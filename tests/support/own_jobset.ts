/** JobSet as people write it themselves, without a TrainJob. */
import { KINDS } from "../../crds/kinds.ts";

/** What a JobSet runs. */
export interface OwnJobSetOptions {
  /** The controller that it names. Default none. */
  readonly managedBy?: string;
  /** For `sh -c`. Default `exit 0`. */
  readonly command?: string;
  /** Jobs of its replicated job `node`. Default 1. */
  readonly replicas?: number;
}

/** Returns a JobSet of the namespace `default`, whose pods are made once. */
export function ownJobSet(
  name: string,
  { managedBy, command = "exit 0", replicas = 1 }: OwnJobSetOptions = {},
) {
  const container = { name: "main", image: "none", command: ["sh", "-c", command] };
  const podSpec = { restartPolicy: "Never", containers: [container] };
  return KINDS.jobSet.parse({
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { name, namespace: "default" },
    spec: {
      ...(managedBy !== undefined && { managedBy }),
      replicatedJobs: [{
        name: "node",
        replicas,
        template: { spec: { backoffLimit: 0, template: { spec: podSpec } } },
      }],
    },
  });
}
