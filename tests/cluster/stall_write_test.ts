/** Tests of the writes of stalls on a real API server: they come and go, for one incarnation of a job, and a definition may drop them. */
import assert from "node:assert/strict";
import { jobRefOf, jobSchema } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { paceOf, stallOf } from "../../crds/job_state.ts";
import type { JobPace, JobStall } from "../../crds/job_stall.ts";
import { KINDS } from "../../crds/kinds.ts";
import { crdManifests } from "../../crds/manifests.ts";
import { createStallWriter } from "../../owner/stalls/stall_writer.ts";
import { isInvalid } from "../../platform/kube/errors.ts";
import { trainJob } from "../support/standalone.ts";
import { startControlPlane } from "./control_plane/control_plane.ts";
import { apply, crdsServed } from "./support/installation.ts";

const STALL: JobStall = {
  since: "2026-01-01T00:00:00Z",
  time: "2026-01-01T00:00:20Z",
  intervalSeconds: 1.5,
  pods: [{ name: "a-node-0-1", node: "n", step: 811, place: "loader.py:40" }],
  message: "no step after 812",
};
const PACE: JobPace = {
  stepSeconds: 0.5,
  silences: { Training: [3.2, 99], Any: [310, 2] },
  run: "01234567",
};
const NEVER = new AbortController().signal;

/** The definitions, that of TrainJobs without the fields as upstream's is. */
function prunedCrds() {
  const copy = JSON.parse(JSON.stringify(crdManifests()));
  const trainJobs = copy.find((crd: { spec: { names: { kind: string } } }) =>
    crd.spec.names.kind === "TrainJob"
  );
  const { status } = trainJobs.spec.versions[0].schema.openAPIV3Schema.properties;
  delete status.properties.stalled;
  delete status.properties.pace;
  return copy;
}

async function withTrainJobs(
  crds: ReturnType<typeof crdManifests>,
  work: (client: Awaited<ReturnType<typeof startControlPlane>>["client"]) => Promise<void>,
): Promise<void> {
  const plane = await startControlPlane({ scheduler: false, controllerManager: false });
  try {
    await apply(plane, crds);
    await crdsServed(plane, crds.map(({ metadata }) => `crd/${metadata.name}`));
    await work(plane.client);
  } finally {
    await plane.stop();
  }
}

Deno.test("a stall and a pace are written, and a stall is taken away, whatever others write meanwhile", () =>
  withTrainJobs(crdManifests(), async (client) => {
    const key = { namespace: "default", name: "a" };
    const create = async () => {
      const made = await client.create(KINDS.trainJob, trainJob("a", "any"));
      return jobSchema.parse(made);
    };
    const now = async () => jobSchema.parse(await client.get(KINDS.trainJob, key));
    const { write } = createStallWriter({ client, keepsProgress: () => true });
    const earlier = await create();
    const ref = jobRefOf(TRAINJOB, earlier);
    await write(ref, earlier, { stall: STALL, pace: PACE }, NEVER);
    const told = await now();
    assert.deepEqual([stallOf(told), paceOf(told)], [STALL, PACE]);
    const patch = { type: "merge", body: { status: { state: "Running" } } } as const;
    await client.patch(KINDS.trainJob, key, patch, { subresource: "status" });
    await write(ref, told, { stall: undefined, pace: PACE }, NEVER);
    const left = await now();
    assert.deepEqual([stallOf(left), paceOf(left), left.status?.["state"]], [
      undefined,
      PACE,
      "Running",
    ]);
    await client.delete(KINDS.trainJob, key);
    await write(ref, left, { stall: STALL, pace: undefined }, NEVER);
    const later = await create();
    await assert.rejects(write(ref, later, { stall: STALL, pace: undefined }, NEVER), isInvalid);
    assert.equal(stallOf(await now()), undefined, "it is another job");
  }));

Deno.test("a definition that drops stalls is written to once", () =>
  withTrainJobs(prunedCrds(), async (client) => {
    const job = jobSchema.parse(await client.create(KINDS.trainJob, trainJob("a", "any")));
    const writes: string[] = [];
    const counted: Pick<typeof client, "patch"> = {
      patch(...given) {
        writes.push(given[1].name);
        return client.patch(...given);
      },
    };
    const { write } = createStallWriter({ client: counted, keepsProgress: () => true });
    for (let times = 0; times < 3; times++) {
      await write(jobRefOf(TRAINJOB, job), job, { stall: STALL, pace: PACE }, NEVER);
    }
    assert.deepEqual(writes, ["a"]);
  }));
