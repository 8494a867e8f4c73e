/** Tests of the time to live of TrainJobs in a whole Milepost: they go with their pods, by job or runtime. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, LABELS } from "../../../crds/names.ts";
import { isNotFound, KubeError } from "../../../platform/kube/errors.ts";
import { shareStandalone, shellRuntime, trainJob, trainJobThat } from "../../support/standalone.ts";
import { createTrial, createTrialsJob, installTrials } from "../../support/trials.ts";
import { until } from "../../support/until.ts";

const standalone = shareStandalone(async (client) => {
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("short", "true"));
  await installTrials(client);
});

const after = (seconds: string) => ({ annotations: { [ANNOTATIONS.timeToLive]: seconds } });
const key = (name: string) => ({ namespace: "default", name });

/** A job of the runtime, with that annotation. */
const shortJob = (name: string, seconds?: string) =>
  trainJob(name, "short", seconds === undefined ? {} : after(seconds));

/** Waits until the job and its pods are gone. */
async function gone(name: string): Promise<void> {
  const { client } = standalone();
  await until(`${name} is gone`, async () => {
    const job = await client.get(KINDS.trainJob, key(name)).catch((error) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return job === undefined && items.length === 0 ? true : undefined;
  });
}

Deno.test("a job goes with its pods after its own time to live, and another one stays", async () => {
  const { client } = standalone();
  await client.create(KINDS.trainJob, shortJob("stays", "3600"));
  await client.create(KINDS.trainJob, shortJob("goes", "0"));
  await gone("goes");
  await trainJobThat(client, "stays", "has ended", ({ status }) => status?.state === "Complete");
  const sooner = { type: "merge", body: { metadata: after("0") } } as const;
  await client.patch(KINDS.trainJob, key("stays"), sooner);
  await gone("stays");
});

Deno.test("jobs that have ended go when their runtime says so later", async () => {
  const { client } = standalone();
  await client.create(KINDS.trainJob, shortJob("ruled"));
  await trainJobThat(client, "ruled", "has ended", ({ status }) => status?.state === "Complete");
  const says = (seconds: string | null) =>
    client.patch(KINDS.clusterTrainingRuntime, { name: "short" }, {
      type: "merge",
      body: { metadata: { annotations: { [ANNOTATIONS.timeToLive]: seconds } } },
    });
  await assert.rejects(
    says("5m"),
    (error) =>
      error instanceof KubeError && error.code === 403 &&
      /ttl-seconds-after-finished\]: Invalid value: "5m"/.test(error.message),
  );
  await says("0");
  await gone("ruled");
  await says(null);
});

Deno.test("the job of a Trial stays when its time is over, and goes with its Trial", async () => {
  const { client } = standalone();
  const trial = await createTrial(client, "tried", "short");
  await createTrialsJob(client, trial, after("0"));
  await trainJobThat(client, "tried", "has ended", ({ status }) => status?.state === "Complete");
  const ended = { conditions: [{ type: "Succeeded", status: "True", reason: "R", message: "m" }] };
  const patch = { type: "merge", body: { status: ended } } as const;
  await client.patch(KINDS.trial, key("tried"), patch, { subresource: "status" });
  // Its end is looked at again, and later than that of a job which goes.
  await client.patch(KINDS.trainJob, key("tried"), {
    type: "merge",
    body: { metadata: { labels: { changed: "true" } } },
  });
  await client.create(KINDS.trainJob, shortJob("other", "0"));
  await gone("other");
  const kept = await client.get(KINDS.trainJob, key("tried"));
  assert.equal(kept.metadata.deletionTimestamp, undefined);
  await client.delete(KINDS.trial, key("tried"), { propagationPolicy: "Background" });
  await gone("tried");
});

Deno.test("a time to live that is none is refused", async () => {
  await assert.rejects(
    standalone().client.create(KINDS.trainJob, shortJob("wrong", "-1")),
    /ttl-seconds-after-finished\]: Invalid value: "-1": must be a whole number of seconds from 0 to/,
  );
});
