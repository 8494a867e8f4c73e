/** A trial of Katib's own controller over a PyTorchJob: stopped early by what its master pushes, with its observation. */
import { COLLECTORS, TRIAL_CONDITIONS } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { MASTER_ROLE, V1_LABELS } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import type { ControlPlane } from "../../tests/cluster/control_plane/control_plane.ts";
import { until } from "../../tests/support/until.ts";
import type { Measure } from "../result.ts";
import { conditionPath, NAMESPACE, RULE } from "./trial_object.ts";

const NAME = "over-a-pytorchjob";

/** The Trial as Katib's experiment controller makes it, with its defaults of the kind. */
function trial(script: string) {
  const containers = [{ name: "pytorch", image: "none", command: ["sh", "-c", script] }];
  const template = {
    metadata: { annotations: { "sidecar.istio.io/inject": "false" } },
    spec: { containers },
  };
  return KINDS.trial.parse({
    apiVersion: "kubeflow.org/v1beta1",
    kind: "Trial",
    metadata: { name: NAME, namespace: NAMESPACE },
    spec: {
      objective: {
        type: "minimize",
        objectiveMetricName: "loss",
        metricStrategies: [{ name: "loss", value: "min" }],
      },
      parameterAssignments: [],
      metricsCollector: { collector: { kind: COLLECTORS.push } },
      primaryPodLabels: { [V1_LABELS.jobRole]: MASTER_ROLE },
      primaryContainerName: "pytorch",
      successCondition: conditionPath("Succeeded"),
      failureCondition: conditionPath("Failed"),
      retainRun: true,
      earlyStoppingRules: [RULE],
      runSpec: {
        apiVersion: "kubeflow.org/v1",
        kind: "PyTorchJob",
        metadata: { name: NAME, namespace: NAMESPACE },
        spec: {
          pytorchReplicaSpecs: {
            Master: { replicas: 1, restartPolicy: "Never", template },
            Worker: {
              replicas: 1,
              restartPolicy: "Never",
              template: {
                ...template,
                spec: { containers: [{ ...containers[0], command: ["sleep", "600"] }] },
              },
            },
          },
        },
      },
    },
  });
}

const hasTrue = (conditions: readonly { type: string; status: string }[] = [], type: string) =>
  conditions.some((it) => it.type === type && it.status === "True");

/** Runs it; `script` pushes until it is ended. */
export async function tryV1Trial({ client }: ControlPlane, script: string): Promise<Measure[]> {
  const key = { namespace: NAMESPACE, name: NAME };
  await client.create(KINDS.trial, trial(script));
  const patient = { timeoutMs: 90_000 };
  const stopped = await until("the trial over a PyTorchJob is stopped", async () => {
    const { status } = await client.get(KINDS.trial, key);
    return hasTrue(status?.conditions, TRIAL_CONDITIONS.earlyStopped) && status;
  }, patient);
  const job = await until("its job has ended", async () => {
    const { status } = await client.get(V1_RESOURCES.PyTorchJob, key);
    return hasTrue(status?.conditions, "Succeeded") && status;
  }, patient);
  await until("none of its pods runs", async () => {
    const labelSelector = `${V1_LABELS.jobName}=${NAME}`;
    const { items } = await client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector });
    return items.every(({ status }) => status?.phase !== "Running");
  }, patient);
  const metrics = stopped.observation?.metrics ?? [];
  const reasons = (job.conditions ?? []).map(({ type, reason }) => `${type}/${reason}`);
  return [{
    name: "metrics of a stopped trial over a PyTorchJob",
    value: metrics.length,
    unit: "",
    goal: { is: "at least", limit: 1 },
    note: `${JSON.stringify(metrics)}; the job: ${reasons.join(", ")}`,
  }];
}
