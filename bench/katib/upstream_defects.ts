/**
 * Two defects of Katib by itself, reproduced with Katib's own controller and webhook: a trial whose TrainJob
 * has an initializer is denied, and an early-stopped trial that is not retained loses its observation.
 */
import { parse as parseYaml } from "yaml";
import { TRIAL_CONDITIONS } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import { isNotFound } from "../../platform/kube/errors.ts";
import type { ControlPlane } from "../../tests/cluster/control_plane/control_plane.ts";
import { kubectl } from "../../tests/cluster/support/installation.ts";
import { until } from "../../tests/support/until.ts";
import type { Measure } from "../result.ts";
import { NAMESPACE, trialOf } from "./trial_object.ts";

const RUNTIME = "with-initializer";
const PATCH = new URL("../../deploy/katib/patch.yaml", import.meta.url).pathname;

/** A runtime whose data set is fetched before it trains, four pushes long. */
function runtime(script: string): ClusterTrainingRuntime {
  const step = (
    name: string,
    ancestor: string,
    container: string,
    command: string,
    more: string,
  ) => `
        - name: ${name}${more}
          template:
            metadata:
              labels: {trainer.kubeflow.org/trainjob-ancestor-step: ${ancestor}}
            spec:
              template:
                spec:
                  restartPolicy: Never
                  volumes: [{name: initializer, emptyDir: {}}]
                  containers:
                    - name: ${container}
                      image: none
                      command: ${JSON.stringify(["sh", "-c", command])}
                      volumeMounts: [{name: initializer, mountPath: /workspace}]`;
  const dataset = "dataset-initializer";
  const after = `\n          dependsOn: [{name: ${dataset}, status: Complete}]`;
  return KINDS.clusterTrainingRuntime.parse(parseYaml(`
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: ${RUNTIME}, labels: {trainer.kubeflow.org/framework: plain}}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:${step(dataset, dataset, dataset, "true", "")}${
    step("node", "trainer", "node", script, after)
  }
`));
}

async function isTrue(plane: ControlPlane, name: string, type: string): Promise<boolean> {
  const { status } = await plane.client.get(KINDS.trial, { namespace: NAMESPACE, name });
  return status?.conditions?.some((it) => it.type === type && it.status === "True") ?? false;
}

async function isGone(plane: ControlPlane, name: string): Promise<boolean> {
  try {
    await plane.client.get(KINDS.trainJob, { namespace: NAMESPACE, name });
    return false;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}

/** Tries both; `script` pushes a few times and ends. The patch is in place afterwards. */
export async function tryDefects(plane: ControlPlane, script: string): Promise<Measure[]> {
  const { client } = plane;
  await client.create(KINDS.clusterTrainingRuntime, runtime(script));
  const initializer = { dataset: { storageUri: "hf://digits/train" } };
  const spec = { runtimeRef: { name: RUNTIME }, initializer };
  await client.create(KINDS.trial, trialOf("denied", { spec, rules: [] }));
  const denial = await until("the denial of Katib's webhook", async () => {
    const events = await kubectl(plane, ["get", "events", "-n", NAMESPACE]);
    return events.split("\n").find((line) => /Unable to find primary container/.test(line));
  }, { timeoutMs: 60_000 });
  await kubectl(plane, [
    ...["patch", "mutatingwebhookconfiguration", "katib.kubeflow.org", "--patch-file", PATCH],
  ]);
  await client.create(KINDS.trial, trialOf("initialized", { spec, rules: [] }));
  await client.create(KINDS.trial, trialOf("not-retained", { spec, retain: false }));
  const { succeeded, earlyStopped } = TRIAL_CONDITIONS;
  await until("a trial with an initializer", () => isTrue(plane, "initialized", succeeded), {
    timeoutMs: 60_000,
  });
  await until("a stop", () => isTrue(plane, "not-retained", earlyStopped), { timeoutMs: 60_000 });
  await until("Katib deletes its job", () => isGone(plane, "not-retained"), { timeoutMs: 60_000 });
  const kept = await client.get(KINDS.trial, { namespace: NAMESPACE, name: "not-retained" });
  const metrics = kept.status?.observation?.metrics ?? [];
  return [
    {
      name: "trials with an initializer that succeed, with the patch",
      value: 1,
      unit: "",
      goal: { is: "at least", limit: 1 },
      note: `without it: ${denial.slice(0, 200)}`,
    },
    {
      name: "metrics of a stopped trial whose job Katib deleted",
      value: metrics.length,
      unit: "",
      goal: { is: "at least", limit: 1 },
      note: JSON.stringify(metrics),
    },
  ];
}
