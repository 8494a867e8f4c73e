/** Test of a v1 kind under the Training Operator's definition, which has no field for progress: an annotation shows it. */
import assert from "node:assert/strict";
import { readConfiguration } from "../../../app/configuration/configuration.ts";
import { startManager } from "../../../app/manager/manager.ts";
import { startControlPlane } from "../../../app/standalone/control_plane.ts";
import { jobSchema, statusPath, stopPath } from "../../../crds/job_kind.ts";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import { V1_KINDS, v1CrdName } from "../../../crds/v1/kinds.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { progressOf } from "../../../crds/job_state.ts";
import { v1Job } from "../../controller/jobs/v1_jobs.ts";
import { TEST_FLAGS } from "../../support/manager_flags.ts";
import { observer } from "../../support/observer.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";
import { progress, requestToken } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const JOB = { namespace: "default", name: "j" };

Deno.test("a push shows in the annotation of a job whose definition drops the field", async () => {
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY, kubelet: false });
  cleanup.defer(() => plane.stop());
  const { client } = plane;
  const field = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/";
  await client.patch(
    KINDS.customResourceDefinition,
    { name: v1CrdName(V1_KINDS.PyTorchJob) },
    {
      type: "json",
      operations: ["trainerStatus", "stop"].map((it) => ({ op: "remove", path: field + it })),
    },
  );
  const manager = await startManager(
    readConfiguration({ environment: {}, flags: TEST_FLAGS }),
    { client: plane.managerClient, host: "127.0.0.1" },
  );
  cleanup.defer(() => manager.stop());
  await manager.whenReady();
  const job = v1Job("PyTorchJob", { Master: 1 });
  await client.create(V1_RESOURCES.PyTorchJob, { ...job, metadata: JOB });
  const { metadata } = await until("the pod of the job", async () => {
    const labelSelector = `${V1_LABELS.jobName}=${JOB.name}`;
    return (await client.list(KINDS.pod, { namespace: JOB.namespace, labelSelector })).items[0];
  });
  const pod = { name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
  const account = { namespace: "default", name: "default" };
  const token = await requestToken(client, account, { audience: PUSH_AUDIENCE, pod });
  using http = Deno.createHttpClient({ caCerts: [manager.caBundle()] });
  const kind = JOB_KINDS.all.find((it) => it.kind === "PyTorchJob");
  assert.ok(kind);
  const path = statusPath(kind, JOB.namespace, JOB.name);
  const answer = await fetch(`https://127.0.0.1:${manager.ports.status}${path}`, {
    method: "POST",
    client: http,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(progress(42)),
    signal: AbortSignal.timeout(30_000),
  });
  assert.equal(answer.status, 200, await answer.text());
  const shown = await until("the annotation", async () => {
    const live = jobSchema.parse(await client.get(V1_RESOURCES.PyTorchJob, JOB));
    return live.metadata.annotations?.[ANNOTATIONS.trainerStatus] !== undefined && live;
  });
  assert.equal(shown.status?.["trainerStatus"], undefined);
  assert.equal(progressOf(kind, shown)?.progressPercentage, 42);

  // The decision to stop it would be dropped, too, and is not taken.
  const tuner = await observer(client, "tuner", kind, ["get", "update"]);
  const stop = await fetch(
    `https://127.0.0.1:${manager.ports.status}${stopPath(kind, JOB.namespace, JOB.name)}`,
    {
      method: "POST",
      client: http,
      headers: { authorization: `Bearer ${tuner.token}`, "content-type": "application/json" },
      body: JSON.stringify({ reason: "Pruned" }),
      signal: AbortSignal.timeout(30_000),
    },
  );
  assert.equal(stop.status, 503);
  assert.match(await stop.text(), /PyTorchJob .* drops status\.stop: `milepost crds --v1 --patch`/);
});
