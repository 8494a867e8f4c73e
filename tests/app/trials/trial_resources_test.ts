/** Tests of Katib's Trials over kinds that other operators run: recorded, stopped, and ended as they can be. */
import assert from "node:assert/strict";
import { KATIB } from "../../../crds/katib_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Kind, KubeObject } from "../../../platform/kube/resource.ts";
import { EVENT_REASONS } from "../../../crds/names.ts";
import { parseTrialResource, trialResourceKind } from "../../../crds/trial_resource.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { getOrUndefined } from "../../../platform/kube/upsert.ts";
import { programIn } from "../../support/pod_program.ts";
import { progress, withStandalone } from "../../support/standalone.ts";
import {
  createResourceTrial,
  podOfTrial,
  podTemplate,
  pushUntilStopped,
} from "../../support/trial_resources.ts";
import { eventsAbout, installTrials } from "../../support/trials.ts";
import { until } from "../../support/until.ts";

const RESOURCES = ["Job.v1.batch", "JobSet.v1alpha2.jobset.x-k8s.io", "Sweep.v1.example.org"]
  .map((text) => {
    const resource = parseTrialResource(text);
    assert.ok(resource, text);
    return resource;
  });
const [JOB, JOB_SET, SWEEP] = RESOURCES.map((it) =>
  trialResourceKind(it, `${it.kind.toLowerCase()}s`)
);
assert.ok(JOB && JOB_SET && SWEEP);

const CRD: Kind<KubeObject> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
  parse: (value) => Object(value),
};

/** A kind without a switch to suspend it. */
const SWEEPS = {
  metadata: { name: "sweeps.example.org" },
  spec: {
    group: "example.org",
    names: { kind: "Sweep", listKind: "SweepList", plural: "sweeps", singular: "sweep" },
    scope: "Namespaced",
    versions: [{
      name: "v1",
      served: true,
      storage: true,
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            spec: { type: "object", properties: { size: { type: "integer" } } },
            status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          },
        },
      },
      subresources: { status: {} },
    }],
  },
};

const keyOf = (name: string) => ({ namespace: "default", name });

const isGone = (client: KubeClient, kind: Kind<KubeObject>, name: string) =>
  until(
    `${kind.kind} ${name} is gone`,
    async () => await getOrUndefined(client, kind, keyOf(name)) === undefined,
    { timeoutMs: 60_000 },
  );

Deno.test("Trials over other operators' kinds are recorded and stopped by what their pods push", (t) =>
  withStandalone(async ({ client }) => {
    await installTrials(client);

    for (const kind of [JOB, JOB_SET]) {
      await t.step(`a ${kind.kind} is deleted`, async () => {
        const name = `stopped-${kind.plural}`;
        await createResourceTrial(client, kind, name);
        await pushUntilStopped(client, name);
        await isGone(client, kind, name);
      });
      await t.step(`a ${kind.kind} whose Trial retains it is suspended`, async () => {
        const name = `retained-${kind.plural}`;
        const uid = await createResourceTrial(client, kind, name, { retainRun: true });
        await pushUntilStopped(client, name);
        const { metadata } = await until("it is suspended", async () => {
          const job = await client.get(kind, keyOf(name));
          return Object(job.spec).suspend === true && job;
        });
        assert.equal(metadata.uid, uid);
        await until("its pods are gone", async () => {
          const labelSelector = `${KATIB.trialLabel}=${name}`;
          const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
          return items.length === 0;
        }, { timeoutMs: 60_000 });
      });
    }

    await t.step(
      "a kind that cannot be suspended goes on, and the Trial has an event",
      async () => {
        // Its definition comes after the manager.
        await client.create(CRD, SWEEPS);
        await until(
          "it is served",
          () => client.list(SWEEP, { namespace: "default" }).then(() => true, () => false),
        );
        const uid = await createResourceTrial(client, SWEEP, "endless", { retainRun: true });
        // Its operator makes the pod.
        const owner = { apiVersion: SWEEP.apiVersion, kind: SWEEP.kind, name: "endless", uid };
        const { metadata, spec } = podTemplate("endless");
        await client.create(
          KINDS.pod,
          KINDS.pod.parse({
            metadata: {
              ...metadata,
              ...keyOf("worker-of-endless"),
              ownerReferences: [{ ...owner, controller: true }],
            },
            spec,
          }),
        );
        await pushUntilStopped(client, "endless");
        const about = { kind: KATIB.trialKind, name: "endless" };
        const messages = await eventsAbout(client, about, EVENT_REASONS.trialJobLeft);
        assert.match(messages.join("\n"), /its Sweep goes on: a Sweep cannot be suspended/);
        assert.equal((await client.get(SWEEP, keyOf("endless"))).metadata.uid, uid);
      },
    );

    await t.step("a pod that no job of the Trial controls may not report for it", async () => {
      await createResourceTrial(client, JOB, "honest");
      const honest = await programIn(client, await podOfTrial(client, "honest"));
      await client.create(
        KINDS.pod,
        KINDS.pod.parse({
          metadata: { ...keyOf("stranger"), labels: { [KATIB.trialLabel]: "honest" } },
          spec: podTemplate("honest").spec,
        }),
      );
      const stranger = await programIn(client, "stranger");
      assert.equal(stranger.url, honest.url);
      assert.equal((await stranger.ask(progress(99))).status, 403);
    });
  }, { trialResource: RESOURCES }));
