/** Orphans of the controllers of `apps/v1`, which carry the labels by which a Job adopts pods. */
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { MANAGER } from "../../../crds/names.ts";
import { JOB_KEYS } from "../../../crds/job_names.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { until } from "../../support/until.ts";
import { freshName } from "./admission_world.ts";
import { type Attack, NAMESPACE, TELLING, tokenOfLog } from "./attacker.ts";

/** Kinds whose controllers make pods of any labels for whoever may create such an object. */
export const POD_MAKERS = {
  ReplicaSet: "replicasets",
  StatefulSet: "statefulsets",
  DaemonSet: "daemonsets",
} as const;
export type PodMaker = keyof typeof POD_MAKERS;

async function call({ mallory }: Attack, path: string, method: string, body: unknown) {
  await mallory.read(`/apis/apps/v1/namespaces/${NAMESPACE}/${path}`, {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** Returns the pod that the controller makes. Throws the refusal if the policy refuses it. */
function podMadeFor({ client }: Attack, name: string, app: string): Promise<Pod> {
  return until(`a pod of ${name}, or its refusal`, async () => {
    const [{ items: pods }, { items: events }] = await Promise.all([
      client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector: `app=${app}` }),
      client.list(KINDS.event, { namespace: NAMESPACE }),
    ]);
    const refusal = events.find(({ involvedObject, message }) =>
      involvedObject?.name === name && message?.includes(MANAGER.admissionPolicy)
    );
    return refusal?.message ?? pods[0];
  }, { timeoutMs: 60_000, everyMs: 200 }).then((found) => {
    if (typeof found !== "string") return found;
    throw new KubeError(found, { code: 403, reason: "Forbidden" });
  });
}

/**
 * Lets the controller of that kind make a pod with these labels, named after the Job, and orphans it.
 * Returns the token of that pod.
 */
export async function tokenOfOrphan(
  attack: Attack,
  kind: PodMaker,
  { job, labels }: { readonly job: string; readonly labels: Readonly<Record<string, string>> },
): Promise<string> {
  const app = freshName("orphan");
  await call(attack, POD_MAKERS[kind], "POST", {
    apiVersion: "apps/v1",
    kind,
    metadata: { namespace: NAMESPACE, name: job },
    spec: {
      selector: { matchLabels: { app } },
      template: {
        metadata: {
          labels: { app, ...labels },
          annotations: { [JOB_KEYS.completionIndex]: "0" },
        },
        spec: { ...TELLING, restartPolicy: "Always" },
      },
      ...kind === "StatefulSet" && { serviceName: app },
    },
  });
  const token = await tokenOfLog(attack.mallory, await podMadeFor(attack, job, app));
  await call(attack, `${POD_MAKERS[kind]}/${job}`, "DELETE", { propagationPolicy: "Orphan" });
  return token;
}
