/**
 * Objects of a hostile tenant: as large as the API server takes them, and labelled so that the manager
 * watches them. The API server sends each `<` in them as six bytes.
 */
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { ConfigMap, Job } from "../../platform/kube/kubernetes.ts";
import { CA_KEY, childNames, LABELS, TRAINER_API_VERSION } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";

/** How much the tenant writes. */
export interface HostileObjects {
  readonly namespace: string;
  /** Of each kind. */
  readonly count: number;
  /** Length of the text in each. */
  readonly bytes: number;
  /** A ConfigMap that owns them too, so that no garbage collector deletes them. */
  readonly owner?: { readonly name?: string; readonly uid?: string } | undefined;
}

/** A ConfigMap with the name, the label and the owner of a TrainJob's child; there is no such TrainJob. */
function hostileConfigMap(
  index: number,
  { namespace, bytes, owner = {} }: HostileObjects,
): ConfigMap {
  const job = `hostile-${index}`;
  const madeUp = { apiVersion: TRAINER_API_VERSION, kind: "TrainJob", name: job };
  const { name = "", uid = "" } = owner;
  return {
    metadata: {
      name: childNames.tlsConfig(job),
      namespace,
      labels: { [LABELS.trainJobName]: job },
      ownerReferences: [
        { ...madeUp, uid: `made-up-${index}`, controller: true },
        ...(uid === "" ? [] : [{ apiVersion: "v1", kind: "ConfigMap", name, uid }]),
      ],
    },
    data: { [CA_KEY]: "<".repeat(bytes) },
  };
}

/** A suspended Job with the label of a JobSet's. */
function hostileJob(index: number, { namespace, bytes }: HostileObjects): Job {
  const container = { name: "node", image: "none", args: ["<".repeat(bytes)] };
  return {
    metadata: {
      name: `hostile-${index}`,
      namespace,
      labels: { [JOBSET_KEYS.jobSetName]: `hostile-${index}` },
    },
    spec: {
      suspend: true,
      template: { spec: { restartPolicy: "Never", containers: [container] } },
    },
  };
}

/** Creates ConfigMaps that look like the manager's, one after the other as one tenant would. */
export async function createHostileConfigMaps(
  client: KubeClient,
  attack: HostileObjects,
): Promise<void> {
  for (let index = 0; index < attack.count; index++) {
    await client.create(KINDS.configMap, hostileConfigMap(index, attack));
  }
}

/** Creates Jobs that look like those of JobSets. */
export async function createHostileJobs(client: KubeClient, attack: HostileObjects): Promise<void> {
  for (let index = 0; index < attack.count; index++) {
    await client.create(KINDS.job, hostileJob(index, attack));
  }
}
