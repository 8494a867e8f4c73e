/** Katib's Trials over kinds that other operators run, and the pods of their jobs. */
import assert from "node:assert/strict";
import type { JobKind } from "../../crds/job_kind.ts";
import { MILEPOST_JOBSET_CONTROLLER } from "../../crds/jobset_names.ts";
import { KATIB } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { programIn, TELL } from "./pod_program.ts";
import { progress } from "./standalone.ts";
import { lossAbove, trialThat } from "./trials.ts";
import { until } from "./until.ts";

const keyOf = (name: string) => ({ namespace: "default", name });

/** The template of a trial's pod, as its author writes it. */
export const podTemplate = (trial: string) => ({
  metadata: { labels: { [LABELS.trial]: trial } },
  spec: {
    restartPolicy: "Never",
    containers: [{ name: "main", image: "acme/train:1", command: ["sh", "-c", TELL] }],
  },
});

/** Specs of jobs by their kind. */
const SPECS: Readonly<Record<string, (trial: string) => Record<string, unknown>>> = {
  Job: (trial) => ({ backoffLimit: 0, template: podTemplate(trial) }),
  JobSet: (trial) => ({
    // Here no other controller executes JobSets.
    managedBy: MILEPOST_JOBSET_CONTROLLER,
    replicatedJobs: [{
      name: "train",
      replicas: 1,
      template: { spec: { backoffLimit: 0, template: podTemplate(trial) } },
    }],
  }),
  Sweep: () => ({ size: 1 }),
};

/** Makes a Trial, and its job as Katib does, as the user of `katib`. Returns the UID of the job. */
export async function createResourceTrial(
  client: KubeClient,
  kind: JobKind,
  name: string,
  spec: Record<string, unknown> = {},
  katib: KubeClient = client,
): Promise<string> {
  const runSpec = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: keyOf(name),
    spec: SPECS[kind.kind]?.(name),
  };
  const trial = await client.create(
    KINDS.trial,
    KINDS.trial.parse({
      apiVersion: KATIB.apiVersion,
      kind: KATIB.trialKind,
      metadata: keyOf(name),
      spec: {
        objective: { type: "minimize", objectiveMetricName: "loss" },
        runSpec,
        metricsCollector: { collector: { kind: "Push" } },
        successCondition: `status.conditions.#(type=="Complete")#|#(status=="True")#`,
        failureCondition: `status.conditions.#(type=="Failed")#|#(status=="True")#`,
        earlyStoppingRules: [lossAbove("0.5")],
        ...spec,
      },
    }),
  );
  const owner = { apiVersion: KATIB.apiVersion, kind: KATIB.trialKind, name };
  const ownerReferences = [{ ...owner, uid: trial.metadata.uid ?? "", controller: true }];
  const job = await katib.create(
    kind,
    kind.parse({ ...runSpec, metadata: { ...runSpec.metadata, ownerReferences } }),
  );
  return job.metadata.uid ?? "";
}

/** Returns the name of the one pod of a trial. */
export async function podOfTrial(client: KubeClient, trial: string): Promise<string> {
  return await until(`a pod of ${trial}`, async () => {
    const labelSelector = `${KATIB.trialLabel}=${trial}`;
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items[0]?.metadata?.name;
  }, { timeoutMs: 60_000 });
}

const isStopped = ({ status }: { status?: { conditions?: { type: string; status: string }[] } }) =>
  status?.conditions?.some((it) => it.type === "EarlyStopped" && it.status === "True") ?? false;

/** Pushes a loss above the limit until the answer says that the trial stops. */
export async function pushUntilStopped(client: KubeClient, trial: string): Promise<void> {
  const { ask } = await programIn(client, await podOfTrial(client, trial));
  await until(`${trial} is told to stop`, async () => {
    const { status, body } = await ask(progress(1, { loss: "0.9" }));
    if (status === 200 && body.control?.stop) return true;
    throw new Error(`${status} ${JSON.stringify(body)}`);
  }, { timeoutMs: 60_000 });
  const { status } = await trialThat(client, trial, "is stopped early", isStopped);
  assert.partialDeepStrictEqual(status?.observation, {
    metrics: [{ name: "loss", latest: "0.9" }],
  });
}
