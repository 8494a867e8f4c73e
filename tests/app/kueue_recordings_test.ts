/**
 * Replays of what Kueue wrote to TrainJobs (`tests/peers/recordings/kueue.json`): admission lets every write
 * pass, nothing of it is lost, and JobSet and status follow.
 */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { KUEUE_PATCH_MANAGER } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { applyJsonPatch } from "../../standalone/apiserver/objects/json_patch.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isAlreadyExists, isConflict } from "../../platform/kube/errors.ts";
import { covers } from "../../platform/base/json.ts";
import { readRecording, type RecordedWrite, withoutChanging } from "../peers/support/recording.ts";
import { shareStandalone } from "../support/standalone.ts";
import { until } from "../support/until.ts";

const standalone = shareStandalone();
const { peer, jobs } = await readRecording("kueue");

const objectSchema = z.looseObject({ metadata: z.looseObject({}), spec: z.looseObject({}) });

function patchesOf({ spec }: Pick<TrainJob, "spec">) {
  return spec.runtimePatches?.find(({ manager }) => manager === KUEUE_PATCH_MANAGER)
    ?.trainingRuntimeSpec?.template?.spec?.replicatedJobs ?? [];
}

/** Repeats one write, as Kueue does if somebody else wrote meanwhile. Returns the TrainJob after it. */
async function repeat(client: KubeClient, name: string, write: RecordedWrite): Promise<TrainJob> {
  for (;;) {
    try {
      return await repeatOnce(client, name, write);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}

async function repeatOnce(
  client: KubeClient,
  name: string,
  write: RecordedWrite,
): Promise<TrainJob> {
  const key = { namespace: "default", name };
  const object = objectSchema.parse(write.object);
  switch (write.verb) {
    case "create": {
      const mutated = applyJsonPatch(object, write.mutations);
      return await client.create(KINDS.trainJob, KINDS.trainJob.parse(mutated));
    }
    case "update": {
      const { metadata: { uid, resourceVersion } } = await client.get(KINDS.trainJob, key);
      const metadata = { ...object.metadata, uid, resourceVersion };
      return await client.replace(KINDS.trainJob, KINDS.trainJob.parse({ ...object, metadata }));
    }
    case "patch": {
      const { metadata: { resourceVersion } } = await client.get(KINDS.trainJob, key);
      const body = { ...object, metadata: { resourceVersion } };
      return await client.patch(KINDS.trainJob, key, { type: "merge", body });
    }
  }
}

/** Waits until JobSet and status are as the TrainJob says, which Kueue waits for after a suspension. */
async function followed(client: KubeClient, { metadata, spec }: TrainJob): Promise<void> {
  const key = { namespace: "default", name: metadata.name ?? "" };
  await until(`JobSet and status of ${key.name} follow`, async () => {
    const jobSet = await client.get(KINDS.jobSet, key);
    if ((jobSet.spec?.suspend ?? false) !== (spec.suspend ?? false)) return false;
    const { status } = await client.get(KINDS.trainJob, key);
    if ((status?.state === "Suspended") !== (spec.suspend ?? false)) return false;
    if (spec.suspend && status?.jobsStatus?.some(({ active }) => active > 0)) return false;
    // Kueue counts the pods that are ready, and those that it takes back, by these names.
    const counted = status?.jobsStatus?.map(({ name }) => name) ?? [];
    if (
      !spec.suspend && !jobSet.spec?.replicatedJobs?.every(({ name }) => counted.includes(name))
    ) {
      return false;
    }
    const patches = patchesOf({ spec });
    const isPlaced = jobSet.spec?.replicatedJobs?.some(({ template }) =>
      template.spec?.template.spec?.nodeSelector !== undefined
    );
    // What Kueue has taken back is in no pod any more.
    if (patches.length === 0 && isPlaced) return false;
    return patches.every(({ name, template }) => {
      const pod = jobSet.spec?.replicatedJobs?.find((job) => job.name === name)?.template.spec
        ?.template;
      return pod !== undefined && covers(pod, template?.spec?.template ?? {});
    });
  });
}

for (const [what, { runtime, writes }] of Object.entries(jobs)) {
  Deno.test(`what ${peer} wrote to a job that is ${what} has its effect`, async () => {
    const { client } = standalone();
    try {
      await client.create(
        KINDS.clusterTrainingRuntime,
        KINDS.clusterTrainingRuntime.parse(runtime),
      );
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const [first] = writes;
    const trainJob = objectSchema.parse(first?.object).metadata.name;
    assert.ok(typeof trainJob === "string" && writes.length > 2);
    for (const write of writes) {
      const stored = await repeat(client, trainJob, write);
      if (write.verb !== "create") {
        const spec = { ...stored.spec, ...objectSchema.parse(write.object).spec };
        const sent = KINDS.trainJob.parse({ ...stored, spec });
        assert.deepEqual(withoutChanging(patchesOf(stored)), withoutChanging(patchesOf(sent)));
      }
      await followed(client, stored);
    }
    await client.delete(KINDS.trainJob, { namespace: "default", name: trainJob });
  });
}
