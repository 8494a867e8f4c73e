/** Tests of the ledger's write on a real API server: it applies to one incarnation of a job. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { crdManifests } from "../../crds/manifests.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import { createStatusWriter } from "../../owner/ledger/status_writer.ts";
import { trainJob } from "../support/standalone.ts";
import { startControlPlane } from "./control_plane/control_plane.ts";
import { apply, crdsServed } from "./support/installation.ts";

const STATUS: TrainerStatus = {
  progressPercentage: 77,
  metrics: [{ name: "loss", value: "0.5" }],
  lastUpdatedTime: "2026-01-01T00:00:00Z",
};

Deno.test("the last progress of a job is not written to the next job of its name", async () => {
  const plane = await startControlPlane({ scheduler: false, controllerManager: false });
  try {
    const crds = crdManifests();
    await apply(plane, crds);
    const names = crds.map(({ metadata }) => `crd/${metadata.name}`);
    await crdsServed(plane, names);
    const { client } = plane;
    const key = { namespace: "default", name: "again" };
    const create = async () => {
      const { metadata } = await client.create(KINDS.trainJob, trainJob("again", "any"));
      return { kind: TRAINJOB, ...key, uid: metadata.uid ?? "" };
    };
    const progress = async () => (await client.get(KINDS.trainJob, key)).status?.trainerStatus;
    const write = createStatusWriter(client);
    const earlier = await create();
    assert.deepEqual(await write(earlier, STATUS), { result: "written" });
    await client.delete(KINDS.trainJob, key);
    assert.deepEqual(await write(earlier, STATUS), { result: "gone" });
    const later = await create();
    assert.deepEqual(await write(earlier, STATUS), { result: "gone" });
    assert.equal(await progress(), undefined);
    assert.deepEqual(await write(later, STATUS), { result: "written" });
    const { metrics: _metrics, ...less } = STATUS;
    assert.deepEqual(await write(later, less), { result: "written" });
    assert.deepEqual(await progress(), less);
    const wrong = await write(later, { ...STATUS, progressPercentage: 500 });
    assert.equal(wrong.result, "invalid");
  } finally {
    await plane.stop();
  }
});
