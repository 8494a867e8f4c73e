/** Tests of invalid TrainJobs: refused with a field path, or, if admission could not see it, by a condition. */
import assert from "node:assert/strict";
import { readConfiguration } from "../../../app/configuration/configuration.ts";
import { startManager } from "../../../app/manager/manager.ts";
import { startControlPlane } from "../../../app/standalone/control_plane.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { ClusterTrainingRuntime } from "../../../crds/training_runtime.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { shareStandalone, shellRuntime, trainJob, trainJobThat } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";

const shared = shareStandalone((client) =>
  client.create(KINDS.clusterTrainingRuntime, shellRuntime("shell", "sleep 60"))
);

const key = (name: string) => ({ namespace: "default", name });

/** The refusal of a call. Fails where it was not refused. */
async function refusalOf(call: Promise<unknown>): Promise<KubeError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof KubeError, String(error));
    return error;
  }
  assert.fail("it was not refused");
}

function withPolicy(name: string, mlPolicy: object): ClusterTrainingRuntime {
  const runtime = shellRuntime(name, "true");
  return KINDS.clusterTrainingRuntime.parse({ ...runtime, spec: { ...runtime.spec, mlPolicy } });
}

function withAnnotations(name: string, annotations: Record<string, string>): TrainJob {
  return trainJob(name, "shell", { annotations });
}

const earlyStopping = (value: string) =>
  JSON.stringify({
    objective: { name: "loss", type: "minimize" },
    rules: [{ name: "loss", value, comparison: "greater", startStep: 3 }],
  });
const EARLY_STOPPING = earlyStopping("0.5");

const creations: Record<string, { job: TrainJob; code: number; want: RegExp }> = {
  "a runtime that is not there": {
    job: trainJob("a", "missing"),
    code: 403,
    want: /spec\.[rR]untimeRef.*must be created before the TrainJob is created/,
  },
  "a kind of runtime that is not there": {
    job: trainJob("a", "x", { spec: { runtimeRef: { name: "x", kind: "Recipe" } } }),
    code: 403,
    want: /unsupported runtime: Recipe\.trainer\.kubeflow\.org/,
  },
  "a variable of the torch policy": {
    job: trainJob("a", "torch", {
      spec: { trainer: { env: [{ name: "PET_NNODES", value: "3" }] } },
    }),
    code: 403,
    want: /spec\.trainer\.env.*must not have reserved envs.*PET_NNODES/,
  },
  "a name that is too long for its pods": {
    job: trainJob(`a${"b".repeat(60)}`, "shell"),
    code: 403,
    want: /63|too long|at most/i,
  },
  "a name that is no DNS label": {
    job: trainJob("1a", "shell"),
    code: 422,
    want: /metadata\.name must match RFC 1035/,
  },
  "a patch of a job that the runtime does not have": {
    job: trainJob("a", "shell", {
      spec: {
        runtimePatches: [{
          manager: "acme.io/me",
          trainingRuntimeSpec: { template: { spec: { replicatedJobs: [{ name: "nobody" }] } } },
        }],
      },
    }),
    code: 403,
    want: /spec\.runtimePatches.*must not have replicated job that doesn't exist/,
  },
  "a patch of a reserved container's variables": {
    job: trainJob("a", "shell", {
      spec: {
        runtimePatches: [{
          manager: "acme.io/me",
          trainingRuntimeSpec: {
            template: {
              spec: {
                replicatedJobs: [{
                  name: "node",
                  template: {
                    spec: {
                      template: {
                        spec: { containers: [{ name: "node", env: [{ name: "A", value: "b" }] }] },
                      },
                    },
                  },
                }],
              },
            },
          },
        }],
      },
    }),
    code: 403,
    want: /must not have envs for the dataset-initializer, model-initializer, node containers/,
  },
  "an initializer that the runtime has no job for": {
    job: trainJob("a", "shell", {
      spec: { initializer: { dataset: { storageUri: "hf://a/b" } } },
    }),
    code: 403,
    want: /must have dataset-initializer job/,
  },
  "a process count below one": {
    job: trainJob("a", "torch", { spec: { trainer: { numProcPerNode: 0 } } }),
    code: 422,
    want: /numProcPerNode must be greater than or equal to 1/,
  },
  "early stopping by a value that is no number": {
    job: withAnnotations("a", {
      [ANNOTATIONS.earlyStopping]: JSON.stringify({
        objective: { name: "loss", type: "minimize" },
        rules: [{ name: "loss", value: "0.5", comparison: "greater" }, {
          name: "loss",
          value: "high",
          comparison: "greater",
        }],
      }),
    }),
    code: 403,
    want: /early-stopping\]\.rules\[1\]\.value: Invalid value: "high": must be a decimal number/,
  },
  "early stopping that is no JSON": {
    job: withAnnotations("a", { [ANNOTATIONS.earlyStopping]: "loss > 0.5" }),
    code: 403,
    want: /metadata\.annotations\[.*early-stopping\]: .*must be JSON/,
  },
  "a line of conditions that is wrong": {
    job: withAnnotations("a", { [ANNOTATIONS.stopWhen]: "loss > 10\nloss is high" }),
    code: 403,
    want: /stop-when\]: Invalid value: "loss is high": line 2, character 9: expected nan/,
  },
  "rules in both spellings": {
    job: withAnnotations("a", {
      [ANNOTATIONS.earlyStopping]: EARLY_STOPPING,
      [ANNOTATIONS.stopWhen]: "loss > 10",
    }),
    code: 403,
    want: /stop-when\]: Forbidden: the job has rules in \S+early-stopping as well: keep one of/,
  },
  "early stopping of a trial's job": {
    job: {
      ...withAnnotations("a", { [ANNOTATIONS.earlyStopping]: EARLY_STOPPING }),
      metadata: {
        ...withAnnotations("a", { [ANNOTATIONS.earlyStopping]: EARLY_STOPPING }).metadata,
        ownerReferences: [{
          apiVersion: "kubeflow.org/v1beta1",
          kind: "Trial",
          name: "a",
          uid: "11111111-2222-3333-4444-555555555555",
          controller: true,
        }],
      },
    },
    code: 403,
    want: /early-stopping\]: Forbidden: this TrainJob is controlled by a Trial/,
  },
  "a grace of more than an hour": {
    job: withAnnotations("a", { [ANNOTATIONS.earlyStoppingGrace]: "2h" }),
    code: 403,
    want: /early-stopping-grace\]: Invalid value: "2h": must be a duration from 0s to 1h/,
  },
  "a trial template that is no object": {
    job: withAnnotations("a", { [ANNOTATIONS.trialTemplate]: "[]" }),
    code: 403,
    want: /trial-template\]: Invalid value: "\[\]": must be an object/,
  },
};

Deno.test("a TrainJob that cannot run is refused at admission, with the field path", async (t) => {
  const { client } = shared();
  await client.create(KINDS.clusterTrainingRuntime, withPolicy("torch", { torch: {} }));
  for (const [sentence, { job, code, want }] of Object.entries(creations)) {
    await t.step(`creation: ${sentence}`, async () => {
      const refusal = await refusalOf(client.create(KINDS.trainJob, job));
      assert.match(refusal.message, want);
      assert.equal(refusal.code, code, refusal.message);
    });
  }
  await t.step("a runtime without an implementation of MPI is refused by the field", async () => {
    const unknown = withPolicy("mpi", { mpi: { mpiImplementation: "" } });
    const refusal = await refusalOf(client.create(KINDS.clusterTrainingRuntime, unknown));
    assert.match(
      refusal.message,
      /spec\.mlPolicy\.mpi\.mpiImplementation: .* is not supported; known: OpenMPI, Intel/,
    );
  });

  await client.create(
    KINDS.trainJob,
    trainJob("stays", "shell", { spec: { trainer: { numNodes: 1 } } }),
  );
  const changes: Record<string, { spec: object; want: RegExp }> = {
    "the number of nodes": { spec: { trainer: { numNodes: 2 } }, want: /field is immutable/ },
    "the runtime": { spec: { runtimeRef: { name: "torch" } }, want: /field is immutable/ },
    "the trainer taken away": { spec: { trainer: null }, want: /spec\.trainer.*immutable/ },
    "a deadline added": {
      spec: { activeDeadlineSeconds: 5 },
      want: /spec\.activeDeadlineSeconds.*immutable/,
    },
    "patches while it runs": {
      spec: { runtimePatches: [{ manager: "acme.io/me" }] },
      want: /RuntimePatches can only be modified when the TrainJob is suspended/,
    },
  };
  for (const [sentence, { spec, want }] of Object.entries(changes)) {
    await t.step(`change: ${sentence}`, async () => {
      const refusal = await refusalOf(
        client.patch(KINDS.trainJob, key("stays"), { type: "merge", body: { spec } }),
      );
      assert.match(refusal.message, want);
    });
  }
});

/** A patch of the early-stopping annotation. */
const annotate = (value: string | null) => ({
  type: "merge" as const,
  body: { metadata: { annotations: { [ANNOTATIONS.earlyStopping]: value } } },
});

Deno.test("the early-stopping annotation may change until the job starts, and never after", async () => {
  const { client } = shared();
  const job = withAnnotations("annotated", { [ANNOTATIONS.earlyStopping]: EARLY_STOPPING });
  await client.create(KINDS.trainJob, { ...job, spec: { ...job.spec, suspend: true } });
  const other = await client.patch(
    KINDS.trainJob,
    key("annotated"),
    annotate(earlyStopping("0.6")),
  );
  assert.equal(
    other.metadata.annotations?.[ANNOTATIONS.earlyStopping],
    earlyStopping("0.6"),
  );
  await client.patch(KINDS.trainJob, key("annotated"), suspend(false));
  for (const value of [EARLY_STOPPING, null]) {
    const refusal = await refusalOf(
      client.patch(KINDS.trainJob, key("annotated"), annotate(value)),
    );
    assert.equal(refusal.code, 403, refusal.message);
    assert.match(refusal.message, /early-stopping\]: Forbidden: is immutable once/);
  }
  await client.patch(KINDS.trainJob, key("annotated"), {
    type: "merge",
    body: { metadata: { annotations: { [ANNOTATIONS.earlyStoppingGrace]: "5s" } } },
  });
});

const suspend = (value: boolean) => ({
  type: "merge" as const,
  body: { spec: { suspend: value } },
});

Deno.test("a TrainJob keeps the runtime that it started from if that is changed or deleted", async () => {
  const { client } = shared();
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("changing", "sleep 0.2"));
  await client.create(KINDS.trainJob, trainJob("keeps", "changing", { spec: { suspend: true } }));
  await client.create(KINDS.trainJob, trainJob("edited", "changing", { spec: { suspend: true } }));
  for (const name of ["keeps", "edited"]) {
    await trainJobThat(client, name, "is paused", (job) => job.status?.state === "Suspended");
  }
  await client.delete(KINDS.clusterTrainingRuntime, { name: "changing" });
  await client.patch(KINDS.trainJob, key("keeps"), suspend(false));
  await trainJobThat(client, "keeps", "completes", (job) => job.status?.state === "Complete");

  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("changing", "exit 9"));
  await client.patch(KINDS.trainJob, key("edited"), {
    type: "merge",
    body: { metadata: { labels: { edited: "yes" } } },
  });
  await client.patch(KINDS.trainJob, key("edited"), suspend(false));
  await trainJobThat(client, "edited", "completes", (job) => job.status?.state === "Complete");
  await client.delete(KINDS.trainJob, key("edited"));
});

Deno.test("a problem that admission could not see is reported by a condition and an event until it is corrected", async () => {
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY });
  const { client } = plane;
  try {
    // No manager is there yet, so nothing judges these at admission.
    await client.create(KINDS.trainJob, trainJob("early", "late"));
    await client.create(
      KINDS.trainJob,
      trainJob("odd", "x", { spec: { runtimeRef: { name: "x", kind: "Recipe" } } }),
    );
    const manager = await startManager(
      readConfiguration({
        environment: {},
        flags: {
          bindAddress: "127.0.0.1",
          webhookPort: "0",
          statusPort: "0",
          metricsPort: "0",
          healthPort: "0",
          forwardPort: "0",
          featureGates: "TrainJobProgress=true",
        },
      }),
      { client: plane.managerClient, host: "127.0.0.1" },
    );
    try {
      await manager.whenReady();
      await trainJobThat(
        client,
        "odd",
        "is Failed",
        (job) =>
          job.status?.conditions?.some((it) =>
            it.type === "Failed" && it.reason === "TrainingRuntimeNotSupported"
          ) === true,
      );
      const waiting = await trainJobThat(
        client,
        "early",
        "tells what is wrong",
        (job) => job.status?.conditions?.some((it) => /not found/.test(it.message)) === true,
      );
      assert.notEqual(waiting.status?.state, "Complete");
      await eventThat(client, "early", /TrainJob resources reconciliation failed: .*late/);
      await client.create(KINDS.clusterTrainingRuntime, shellRuntime("late", "true"));
      const healed = await trainJobThat(
        client,
        "early",
        "completes",
        (job) => job.status?.state === "Complete",
      );
      assert.deepEqual(healed.status?.conditions?.map((it) => it.type), ["Complete"]);
    } finally {
      await manager.stop();
    }
  } finally {
    await plane.stop();
  }
});

async function eventThat(client: KubeClient, about: string, message: RegExp): Promise<void> {
  await until(`an event about ${about}`, async () => {
    const { items } = await client.list(KINDS.event, { namespace: "default" });
    return items.some((it) =>
      it.involvedObject.name === about && it.firstTimestamp !== undefined &&
      message.test(it.message ?? "")
    );
  });
}
