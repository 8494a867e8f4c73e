/** Tests of Trials over TFJobs: the label of their pods, also with an adopted collector, and the pod whose metrics count. */
import assert from "node:assert/strict";
import { z } from "zod";
import type { Standalone } from "../../../app/standalone/standalone.ts";
import { statusPath } from "../../../crds/job_kind.ts";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { KATIB } from "../../../crds/katib_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { progress, requestToken, withStandalone } from "../../support/standalone.ts";
import { createTrial, installTrials, lossAbove, trialThat } from "../../support/trials.ts";
import { until } from "../../support/until.ts";

const answerSchema = z.looseObject({
  control: z.looseObject({ stop: z.boolean() }).optional(),
});

/** Creates a Trial with a collector, and its TFJob as Katib does; returns the job's workers. */
async function begin({ client }: Standalone, name: string, collector: string): Promise<Pod[]> {
  const trial = await createTrial(client, name, "", {
    labels: { "katib.kubeflow.org/experiment": "e", "job-role": "tuner" },
    spec: {
      runSpec: {
        apiVersion: "kubeflow.org/v1",
        kind: "TFJob",
        metadata: { name, namespace: "default" },
      },
      earlyStoppingRules: [lossAbove("0.5", 2)],
      metricsCollector: { collector: { kind: collector } },
      // Katib's defaults of the kind.
      primaryPodLabels: { "training.kubeflow.org/job-role": "master" },
      successCondition: 'status.conditions.#(type=="Succeeded")#|#(status=="True")#',
      primaryContainerName: "tensorflow",
    },
  });
  const owner = { apiVersion: KATIB.apiVersion, kind: KATIB.trialKind, name };
  const containers = [{ name: "tensorflow", image: "none" }, { name: "sidecar", image: "none" }];
  // A template cannot make its pods those of another Trial.
  const metadata = { labels: { [LABELS.trial]: "another" } };
  await client.create(
    V1_RESOURCES.TFJob,
    V1_RESOURCES.TFJob.parse({
      apiVersion: "kubeflow.org/v1",
      kind: "TFJob",
      metadata: {
        name,
        namespace: "default",
        ownerReferences: [{ ...owner, uid: trial.metadata.uid, controller: true }],
      },
      spec: {
        tfReplicaSpecs: { Worker: { replicas: 2, template: { metadata, spec: { containers } } } },
      },
    }),
  );
  return await until(`the workers of ${name}`, async () => {
    const labelSelector = `${V1_LABELS.jobName}=${name}`;
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    const index = (it: Pod) => it.metadata?.labels?.[V1_LABELS.replicaIndex] ?? "";
    return items.length === 2 ? items.toSorted((a, b) => index(a) < index(b) ? -1 : 1) : undefined;
  }, { timeoutMs: 60_000 });
}

/** Pushes as a pod of the job, and returns whether it is told to stop. */
async function stopsOn(
  { client, status, caBundle }: Standalone,
  job: string,
  { metadata, spec }: Pod,
  loss: string,
): Promise<boolean> {
  const kind = JOB_KINDS.all.find((it) => it.kind === "TFJob");
  assert.ok(kind);
  const { name = "", uid = "" } = metadata ?? {};
  const account = { namespace: "default", name: spec?.serviceAccountName ?? "default" };
  const token = await requestToken(client, account, {
    audience: PUSH_AUDIENCE,
    pod: { name, uid },
  });
  using http = Deno.createHttpClient({ caCerts: [caBundle()] });
  const answer = await fetch(`${status}${statusPath(kind, "default", job)}`, {
    method: "POST",
    client: http,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(progress(10, { loss })),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return answerSchema.parse(JSON.parse(text)).control?.stop ?? false;
}

function labelsOf({ metadata }: Pod): Readonly<Record<string, string>> {
  return metadata?.labels ?? {};
}

const saysTrial = ({ spec }: Pod) =>
  (spec?.containers ?? []).filter(({ env = [] }) =>
    env.some((it) => it.name === "KATIB_TRIAL_NAME")
  ).map((it) => it.name);

Deno.test("Trials over TFJobs are recorded and stopped, of Push and of an adopted collector", async (t) => {
  await withStandalone(async (standalone) => {
    const { client } = standalone;
    await installTrials(client);
    for (const collector of ["Push", "StdOut"]) {
      await t.step(`collector ${collector}`, async () => {
        const name = `tf-${collector.toLowerCase()}`;
        const [first, second] = await begin(standalone, name, collector);
        assert.ok(first && second);
        for (const pod of [first, second]) {
          const labels = labelsOf(pod);
          assert.equal(labels[LABELS.trial], name);
          assert.equal(labels["katib.kubeflow.org/trial"], name);
          assert.equal(labels["katib.kubeflow.org/experiment"], "e");
          assert.deepEqual(saysTrial(pod), ["tensorflow"]);
        }
        // The Trial's label of that name is not the job's.
        assert.deepEqual([first, second].map((it) => labelsOf(it)["job-role"]), [
          "master",
          undefined,
        ]);
        assert.equal(await stopsOn(standalone, name, second, "9"), false, "another worker");
        assert.equal(await stopsOn(standalone, name, first, "0.9"), false, "the first step");
        assert.equal(await stopsOn(standalone, name, first, "0.6"), true);
        const { status } = await trialThat(
          client,
          name,
          "is stopped early",
          (it) => it.status?.conditions?.at(-1)?.type === "EarlyStopped",
        );
        assert.partialDeepStrictEqual(status?.observation, {
          metrics: [{ name: "loss", min: "0.6", max: "0.9", latest: "0.6" }],
        });
        await until("the job is stopped", async () => {
          const job = await client.get(V1_RESOURCES.TFJob, { namespace: "default", name });
          return job.status?.conditions?.at(-1)?.reason === "TFJobEarlyStopped";
        }, { timeoutMs: 60_000 });
      });
    }

    await t.step("a collector that is not adopted stays Katib's", async () => {
      const [first] = await begin(standalone, "tf-file", "File");
      assert.ok(first);
      assert.equal(LABELS.trial in labelsOf(first), false);
      assert.equal(await stopsOn(standalone, "tf-file", first, "0.6"), false);
    });
  }, { kubelet: false, settings: { adoptCollectors: "StdOut" } });
});
