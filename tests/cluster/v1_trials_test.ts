/**
 * Test of a Katib Trial over a TFJob on a real control plane with the shipped admission policy: its pods are labelled
 * as the Trial's, a template's claims to other jobs do not reach them, pushes stop it, and a restart makes others.
 */
import assert from "node:assert/strict";
import { MANAGER_PARTS } from "../../app/manager/rights.ts";
import { KATIB } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { ANNOTATIONS, LABELS, MANAGER } from "../../crds/names.ts";
import { V1_KINDS } from "../../crds/v1/kinds.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { DEFAULTS } from "../../deploy/installation_settings.ts";
import { parts } from "../../deploy/parts.ts";
import { programIn, TELL } from "../support/pod_program.ts";
import { progress } from "../support/standalone.ts";
import { createTrial, installTrials, lossAbove, trialThat } from "../support/trials.ts";
import { until } from "../support/until.ts";
import { apply } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster("v1");

const keyOf = (name: string) => ({ namespace: "default", name });
const TFJOB = V1_RESOURCES.TFJob;

/** What a template may not say through the manager. */
const CLAIMS = {
  [LABELS.trial]: "another",
  [LABELS.trainJobName]: "another",
  "jobset.sigs.k8s.io/jobset-name": "another",
};

/** A TFJob of one worker, of a Trial if its UID is given. Its template names, by Katib's label, a Trial that is not its own. */
function tfJob(name: string, trialUid?: string) {
  const { container, specsKey } = V1_KINDS.TFJob;
  const containers = [{ name: container, image: "acme/train:1", command: ["sh", "-c", TELL] }];
  const labels = { ...CLAIMS, [KATIB.trialLabel]: trialUid === undefined ? "tried" : "another" };
  const template = { metadata: { labels }, spec: { containers } };
  const owner = { apiVersion: KATIB.apiVersion, kind: KATIB.trialKind, name, controller: true };
  return TFJOB.parse({
    apiVersion: "kubeflow.org/v1",
    kind: "TFJob",
    metadata: {
      ...keyOf(name),
      ...trialUid !== undefined && { ownerReferences: [{ ...owner, uid: trialUid }] },
    },
    spec: { [specsKey]: { Worker: { replicas: 1, template } } },
  });
}

Deno.test("a Trial over a TFJob is recorded and stopped, and no template makes a pod another job's", () =>
  withSharedCluster(async ({ plane: { client }, manager }) => {
    await until("the policy is enforced", async () => {
      const metadata = { ...keyOf("forged"), labels: CLAIMS };
      const containers = [{ name: "a", image: "none" }];
      try {
        await client.create(KINDS.pod, { metadata, spec: { containers } });
      } catch (error) {
        return String(error).includes(MANAGER.admissionPolicy);
      }
      await client.delete(KINDS.pod, keyOf("forged"));
      return false;
    }, { timeoutMs: 60_000, everyMs: 500 });
    const { metadata } = await createTrial(client, "tried", "", {
      spec: {
        runSpec: { apiVersion: "kubeflow.org/v1", kind: "TFJob", metadata: keyOf("tried") },
        earlyStoppingRules: [lossAbove("0.5")],
        primaryPodLabels: { [V1_LABELS.jobRole]: "master" },
        primaryContainerName: "tensorflow",
        successCondition: 'status.conditions.#(type=="Succeeded")#|#(status=="True")#',
      },
    });
    await client.create(TFJOB, tfJob("tried", metadata.uid));
    await client.create(TFJOB, tfJob("plain"));
    const [tried, plain] = [
      await programIn(client, "tried-worker-0"),
      await programIn(client, "plain-worker-0"),
    ];
    const labelsOf = async (pod: string) =>
      (await client.get(KINDS.pod, keyOf(pod))).metadata?.labels ?? {};
    const [ofTried, ofPlain] = [await labelsOf("tried-worker-0"), await labelsOf("plain-worker-0")];
    assert.equal(ofTried[LABELS.trial], "tried");
    assert.equal(ofTried[KATIB.trialLabel], "tried");
    for (const claim of Object.keys(CLAIMS)) assert.equal(claim in ofPlain, false, claim);
    assert.match(plain.url, /\/tfjobs\/plain\/status$/);
    assert.equal((await plain.ask(progress(5, { loss: "0.7" }))).body.control, undefined);
    const { status, body } = await tried.ask(progress(5, { loss: "0.9" }));
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.control?.stop, true, JSON.stringify(body));
    const stopped = await trialThat(
      client,
      "tried",
      "is stopped early",
      (it) => it.status?.conditions?.at(-1)?.type === "EarlyStopped",
    );
    assert.partialDeepStrictEqual(stopped.status?.observation, {
      metrics: [{ name: "loss", latest: "0.9", min: "0.9", max: "0.9" }],
    });
    await until("the TFJob has ended", async () => {
      const job = await client.get(TFJOB, keyOf("tried"));
      return job.status?.conditions?.at(-1)?.reason === "TFJobEarlyStopped";
    }, { timeoutMs: 30_000 });
    const { uid } = (await client.get(KINDS.pod, keyOf("plain-worker-0"))).metadata ?? {};
    const restart = { count: 1, reason: "Asked", message: "", time: "2026-01-01T00:00:00Z" };
    const patch = { type: "merge", body: { status: { restart } } } as const;
    await client.patch(TFJOB, keyOf("plain"), patch, { subresource: "status" });
    await until("the other TFJob is restarted", async () => {
      const { status } = await client.get(TFJOB, keyOf("plain"));
      return status?.restart?.endTime !== undefined;
    }, { timeoutMs: 60_000 });
    const { metadata: again } = await client.get(KINDS.pod, keyOf("plain-worker-0"));
    assert.notEqual(again?.uid, uid);
    assert.equal(again?.annotations?.[ANNOTATIONS.restartCount], "1");
    assert.doesNotMatch(await manager.log(), /"level":"ERROR"/i);
  }, {
    flags: { jobset: "external", observationSink: "memory" },
    parts: MANAGER_PARTS.filter((it) => it !== "executor"),
    async beforeManager({ plane }) {
      await apply(plane, parts(DEFAULTS).admission_policy);
      await installTrials(plane.client);
    },
  }));
