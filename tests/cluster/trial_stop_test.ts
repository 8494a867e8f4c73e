/** Tests of a stop's two writes on a real API server: done once by many, never over others' writes. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { crdManifests } from "../../crds/manifests.ts";
import { trialCrd } from "../../crds/trial_manifest.ts";
import { createStopper } from "../../katib/stopping/stopper.ts";
import type { Stop } from "../../owner/observations/observations.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isConflict } from "../../platform/kube/errors.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { createTrial, createTrialsJob } from "../support/trials.ts";
import { until } from "../support/until.ts";
import { startControlPlane } from "./control_plane/control_plane.ts";
import { apply, crdsServed } from "./support/installation.ts";

const { signal } = new AbortController();

function condition(type: string) {
  const now = new Date().toISOString();
  return {
    type,
    status: "True",
    reason: `Trial${type}`,
    message: `Trial is ${type}`,
    lastUpdateTime: now,
    lastTransitionTime: now,
  };
}

/** A Trial as its controller has marked it, its TrainJob, and the stop that is asked for. */
async function begin(client: KubeClient, name: string): Promise<Stop> {
  const trial = await createTrial(client, name, "any");
  const job = await createTrialsJob(client, trial);
  const key = { namespace: "default", name };
  const status = {
    startTime: new Date().toISOString(),
    conditions: [condition("Created"), condition("Running")],
  };
  const options = { subresource: "status" };
  await client.patch(KINDS.trial, key, { type: "merge", body: { status } }, options);
  return {
    plan: {
      key: { kind: "trial", uid: trial.metadata.uid ?? "", ...key },
      job: { kind: TRAINJOB, uid: job.metadata.uid ?? "", ...key },
    },
    decision: {
      reason: "RulesMet",
      time: new Date().toISOString(),
      message: "loss 0.6 is greater than 0.5, at report 1",
      graceMs: 0,
    },
    observation: [{ name: "loss", min: "0.6", max: "0.6", latest: "0.6" }],
  };
}

Deno.test("a stop is written once by overlapping owners, and never over another's write", async (t) => {
  const plane = await startControlPlane({ scheduler: false, controllerManager: false });
  try {
    const crds = [...crdManifests(), trialCrd()];
    await apply(plane, crds);
    await crdsServed(plane, crds.map(({ metadata }) => `crd/${metadata.name}`));
    const { client } = plane;
    const told: string[] = [];
    const stopper = () =>
      createStopper({
        client,
        clock: systemClock,
        events: { record: ({ kind, name }) => void told.push(`${kind} ${name}`) },
        deadlineMs: 10_000,
      });
    const typesOf = async (kind: typeof KINDS.trial | typeof KINDS.trainJob, name: string) =>
      (await client.get<{ status?: { conditions?: { type: string }[] } }>(kind, {
        namespace: "default",
        name,
      })).status?.conditions?.map(({ type }) => type);

    await t.step("by four at once, while progress is written", async () => {
      const stop = await begin(client, "many");
      const key = { namespace: "default", name: "many" };
      const writing = (async () => {
        for (let percentage = 1; percentage <= 20; percentage++) {
          const trainerStatus = {
            progressPercentage: percentage,
            lastUpdatedTime: new Date().toISOString(),
          };
          const body = { status: { trainerStatus } };
          const options = { subresource: "status" };
          await client.patch(KINDS.trainJob, key, { type: "merge", body }, options);
        }
      })();
      // As the owner does: one that never gets its turn asks again.
      const outcomes = await Promise.all([1, 2, 3, 4].map(() => {
        const one = stopper();
        return until("a stop is done", () => one.stop(stop, signal), { timeoutMs: 60_000 });
      }));
      await writing;
      assert.deepEqual(outcomes, ["stopped", "stopped", "stopped", "stopped"]);
      assert.deepEqual(await typesOf(KINDS.trial, "many"), ["Created", "Running", "EarlyStopped"]);
      assert.deepEqual(await typesOf(KINDS.trainJob, "many"), ["EarlyStopped", "Complete"]);
      assert.deepEqual(told.toSorted(), ["TrainJob many", "Trial many"]);
    });

    await t.step("not over an end that its controller writes at the same time", async () => {
      const stop = await begin(client, "raced");
      const key = { namespace: "default", name: "raced" };
      const trial = await client.get(KINDS.trial, key);
      const conditions = [...trial.status?.conditions ?? [], condition("Succeeded")];
      // Katib writes the whole status, by the version that it has read.
      const succeeds = client.replace(
        KINDS.trial,
        { ...trial, status: { ...trial.status, conditions } },
        { subresource: "status" },
      ).then(() => "succeeded", (error) => {
        if (isConflict(error)) return "refused";
        throw error;
      });
      const [katib, ours] = await Promise.all([succeeds, stopper().stop(stop, signal)]);
      const isOurs = katib === "refused";
      assert.equal(ours, isOurs ? "stopped" : "finished before");
      assert.deepEqual(await typesOf(KINDS.trial, "raced"), [
        "Created",
        "Running",
        isOurs ? "EarlyStopped" : "Succeeded",
      ]);
      assert.deepEqual(
        await typesOf(KINDS.trainJob, "raced"),
        isOurs ? ["EarlyStopped", "Complete"] : undefined,
      );
    });
  } finally {
    await plane.stop();
  }
});
