/**
 * Tests of bad input to policies and gangs, on the embedded control plane: refused at admission in upstream's words
 * if it has some, else told by a condition and an event; and nothing half-made stays.
 */
import assert from "node:assert/strict";
import { VOLCANO } from "../../crds/gang_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { ReplicatedJob } from "../../crds/jobset.ts";
import {
  KUEUE_PATCH_MANAGER,
  LABELS,
  LAUNCHER,
  NODE,
  policyChildNames,
  STEPS,
} from "../../crds/names.ts";
import type { PodSpecPatch } from "../../crds/runtime_patch.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob, TrainJobSpec } from "../../crds/trainjob.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { KubeError } from "../../platform/kube/errors.ts";
import { shareStandalone, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";

const inDefault = (name: string) => ({ namespace: "default", name });

/** A replicated job whose container `node` sleeps. */
function job(name: string, step?: string, pod: object = {}): ReplicatedJob {
  const containers = [{ name: NODE, image: "none", command: ["sleep", "60"] }];
  const labels: Record<string, string> = step === undefined ? {} : { [LABELS.ancestorStep]: step };
  return {
    name,
    template: {
      metadata: { labels },
      spec: { template: { spec: { restartPolicy: "Never", containers, ...pod } } },
    },
  };
}

const TRAINER = job(NODE, STEPS.trainer);
const HOSTS = job(NODE);
const STARTER = job(LAUNCHER, STEPS.trainer);

/** A runtime, by what is special about it. */
interface Sketch {
  readonly mlPolicy?: Record<string, unknown>;
  readonly podGroupPolicy?: Record<string, unknown>;
  readonly jobs?: readonly ReplicatedJob[];
  readonly annotations?: Record<string, string>;
}

function runtimeOf(name: string, sketch: Sketch): ClusterTrainingRuntime {
  const { mlPolicy = {}, podGroupPolicy, jobs = [TRAINER], annotations = {} } = sketch;
  return {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "ClusterTrainingRuntime",
    metadata: { name },
    spec: {
      mlPolicy,
      ...(podGroupPolicy && { podGroupPolicy }),
      template: { metadata: { annotations }, spec: { replicatedJobs: [...jobs] } },
    },
  };
}

const launched = (mpi: object, jobs = [HOSTS, STARTER]) => ({ mlPolicy: { mpi }, jobs });
const RUNTIMES: Readonly<Record<string, Sketch>> = {
  "bad-plain": {},
  "bad-torch": { mlPolicy: { torch: {} } },
  "bad-xgboost": { mlPolicy: { xgboost: {} } },
  "bad-tensorflow": { mlPolicy: { tensorflow: {} }, jobs: [job("ps"), job("worker", "trainer")] },
  "bad-chief": { mlPolicy: { tensorflow: {} }, jobs: [job("chief", "trainer")] },
  "bad-openmpi": launched({ runLauncherAsNode: true }),
  "bad-mpich": launched({ mpiImplementation: "MPICH" }),
  "bad-intel": launched({ mpiImplementation: "IntelMPI" }),
  "no-launcher": launched({ runLauncherAsNode: true }, [TRAINER]),
  "no-node": launched({}, [STARTER]),
  "bad-flux": { mlPolicy: { flux: {} } },
  "no-trainer": { mlPolicy: { flux: {} }, jobs: [HOSTS] },
  "bad-queue": {
    podGroupPolicy: { volcano: {} },
    annotations: { [VOLCANO.queueAnnotation]: "" },
  },
  "bad-volcano": { podGroupPolicy: { volcano: {} } },
  "bad-coscheduling": { podGroupPolicy: { coscheduling: {} } },
  "bad-priority": {
    podGroupPolicy: { volcano: {} },
    jobs: [job(NODE, STEPS.trainer, { priorityClassName: "urgent" })],
  },
};

const shared = shareStandalone(async (client) => {
  for (const [name, sketch] of Object.entries(RUNTIMES)) {
    await client.create(KINDS.clusterTrainingRuntime, runtimeOf(name, sketch));
  }
});

/** The code and the words of a refusal; the words of a webhook without its name. Fails if there is none. */
async function refusalOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof KubeError, String(error));
    return `${error.code} ${error.message.replace(/^.* denied the request: /, "")}`;
  }
  assert.fail("it was not refused");
}

/** Names of what is there beside TrainJobs. */
async function objectsOf(client: KubeClient): Promise<string[]> {
  const namespace = "default";
  const lists = await Promise.all([
    client.list(KINDS.configMap, { namespace }),
    client.list(KINDS.secret, { namespace }),
    client.list(KINDS.jobSet, { namespace }),
    client.list(KINDS.job, { namespace }),
    client.list(KINDS.service, { namespace }),
    client.list(KINDS.pod, { namespace }),
  ]);
  return lists.flatMap(({ items }) =>
    items.map(({ kind = "", metadata }) => `${kind} ${metadata?.name}`)
  ).toSorted();
}

const POLICIES = ["torch", "mpi", "jax", "xgboost", "flux", "tensorflow"];
const PAIRS = POLICIES.flatMap((one, at) => POLICIES.slice(at + 1).map((other) => [one, other]));

const REFUSED_RUNTIMES: Readonly<Record<string, { sketch: Sketch; want: RegExp }>> = {
  "an implementation of MPI that is not known": {
    sketch: launched({ mpiImplementation: "LAM" }),
    want:
      /^422 .*spec\.mlPolicy\.mpi\.mpiImplementation: Unsupported value: "LAM": supported values: "OpenMPI"/,
  },
  "no implementation of MPI": {
    sketch: launched({ mpiImplementation: "" }),
    want:
      /^403 spec\.mlPolicy\.mpi\.mpiImplementation: Invalid value: "": MPI implementation "" is not supported; known: OpenMPI, Intel, IntelMPI, MPICH$/,
  },
  "MPI with no processes": {
    sketch: launched({ numProcPerNode: 0 }),
    want: /^422 .*NumProcPerNode in mpiPolicy must be >= 1$/,
  },
  "Flux with no processes": {
    sketch: { mlPolicy: { flux: { numProcPerNode: 0 } } },
    want: /^422 .*NumProcPerNode in fluxPolicy must be >= 1$/,
  },
  "TensorFlow without a job that trains": {
    sketch: { mlPolicy: { tensorflow: {} }, jobs: [job("ps")] },
    want: /^403 .*must have a job chief or worker, or a trainer, for mlPolicy\.tensorflow$/,
  },
  ...Object.fromEntries(PAIRS.map(([one = "", other = ""]) => [
    `the policies ${one} and ${other} at once`,
    {
      sketch: { mlPolicy: { [one]: {}, [other]: {} } },
      want: /^422 .*spec\.mlPolicy: .*Only one of the policy can be configured$/,
    },
  ])),
};

Deno.test("a runtime that no TrainJob could use is refused by its field", async (t) => {
  const { client } = shared();
  for (const [what, { sketch, want }] of Object.entries(REFUSED_RUNTIMES)) {
    await t.step(what, async () => {
      const made = runtimeOf("refused", sketch);
      assert.match(await refusalOf(client.create(KINDS.clusterTrainingRuntime, made)), want);
    });
  }
  await t.step("a second policy that comes later", async () => {
    const body = { spec: { mlPolicy: { jax: {} } } };
    const key = { name: "bad-torch" };
    assert.match(
      await refusalOf(client.patch(KINDS.clusterTrainingRuntime, key, { type: "merge", body })),
      /^422 .*Only one of the policy can be configured$/,
    );
  });
});

/** A patch of the pods of one job. */
function patchOf(
  manager: string,
  name: string,
  spec: PodSpecPatch,
): TrainJobSpec["runtimePatches"] {
  const jobs = [{ name, template: { spec: { template: { spec } } } }];
  return [{ manager, trainingRuntimeSpec: { template: { spec: { replicatedJobs: jobs } } } }];
}

const variables = (...names: string[]) => names.map((name) => ({ name, value: "mine" }));
const env = (...names: string[]): Partial<TrainJobSpec> => ({
  trainer: { env: variables(...names) },
});
const patchedEnv = (job: string, ...names: string[]): Partial<TrainJobSpec> => ({
  runtimePatches: patchOf("acme.io/me", job, {
    containers: [{ name: NODE, env: variables(...names) }],
  }),
});
const nodes = (numNodes: number): Partial<TrainJobSpec> => ({ trainer: { numNodes } });
const reserved = (shown: string, names: string) =>
  `403 spec.trainer.env: Invalid value: [${shown}]: must not have reserved envs, ` +
  `invalid envs configured: [${names}]`;
const PATCHED_STEP =
  `403 spec.runtimePatches: Invalid value: "${NODE}": must not have envs for the ` +
  "dataset-initializer, model-initializer, node containers";
const NO_QUEUE = `403 spec.annotations[${VOLCANO.queueAnnotation}]: Invalid value: "": ` +
  "Volcano queue name must not be empty";
const UNKNOWN_JOB =
  '403 spec.runtimePatches: Invalid value: "worker": must not have replicated job that ' +
  "doesn't exist in the runtime job template";

const REFUSED: Readonly<
  Record<string, { runtime: string; spec?: Partial<TrainJobSpec>; want: string }>
> = {
  "variables of torch": {
    runtime: "bad-torch",
    spec: env("PET_NNODES", "A", "PET_MASTER_ADDR"),
    want: reserved('"PET_MASTER_ADDR","PET_NNODES"', "PET_MASTER_ADDR PET_NNODES"),
  },
  "variables of OpenMPI": {
    runtime: "bad-openmpi",
    spec: env("OMPI_MCA_plm_rsh_args"),
    want: reserved('"OMPI_MCA_plm_rsh_args"', "OMPI_MCA_plm_rsh_args"),
  },
  "variables of MPICH": {
    runtime: "bad-mpich",
    spec: env("HYDRA_HOST_FILE"),
    want: reserved('"HYDRA_HOST_FILE"', "HYDRA_HOST_FILE"),
  },
  "variables of Intel MPI": {
    runtime: "bad-intel",
    spec: env("I_MPI_PERHOST"),
    want: reserved('"I_MPI_PERHOST"', "I_MPI_PERHOST"),
  },
  "variables of XGBoost": {
    runtime: "bad-xgboost",
    spec: env("DMLC_TASK_ID"),
    want: "403 spec.trainer.env[0]: Forbidden: DMLC_TASK_ID is reserved for the XGBoost runtime",
  },
  "variables of TensorFlow": {
    runtime: "bad-tensorflow",
    spec: env("TF_CONFIG"),
    want: reserved('"TF_CONFIG"', "TF_CONFIG"),
  },
  "variables of the pods' identity": {
    runtime: "bad-plain",
    spec: env("KUBEFLOW_TRAINER_SERVER_URL"),
    want: reserved('"KUBEFLOW_TRAINER_SERVER_URL"', "KUBEFLOW_TRAINER_SERVER_URL"),
  },
  "a setting of Flux that is known in the pod alone": {
    runtime: "bad-flux",
    spec: {
      trainer: {
        env: [{
          name: "FLUX_QUEUE_POLICY",
          valueFrom: { secretKeyRef: { name: "flux", key: "policy" } },
        }],
      },
    },
    want:
      "403 spec.trainer.env[0].valueFrom: Forbidden: FLUX_QUEUE_POLICY must be given as a value",
  },
  "variables of torch in a patch": {
    runtime: "bad-torch",
    spec: patchedEnv(NODE, "PET_NNODES"),
    want: PATCHED_STEP,
  },
  "variables of OpenMPI in a patch of the launcher": {
    runtime: "bad-openmpi",
    spec: patchedEnv(LAUNCHER, "OMPI_MCA_plm_rsh_args"),
    want: PATCHED_STEP,
  },
  "several nodes without a job launcher": {
    runtime: "no-launcher",
    spec: nodes(2),
    want:
      "403 spec.trainer.numNodes: Invalid value: 2: must have 1 when MPI trainingRuntime with enabled " +
      "runLauncherAsNode does not have either launcher and node",
  },
  "several nodes without a job node": {
    runtime: "no-node",
    spec: nodes(2),
    want:
      '403 spec.runtimeRef: Invalid value: "no-node": must have a job node in the runtime: with the ML policy mpi ' +
      "the job launcher starts the processes of the 2 nodes of job node",
  },
  "Flux without a trainer": {
    runtime: "no-trainer",
    want: `403 spec.runtimeRef: Invalid value: "no-trainer": must have a job with the label ` +
      `${LABELS.ancestorStep}: trainer in the runtime, for the brokers of Flux`,
  },
  "no nodes of MPI": {
    runtime: "bad-openmpi",
    spec: nodes(0),
    want:
      "403 spec.trainer.numNodes: Invalid value: 0: must be at least 1 with the ML policy mpi, whose hostfile " +
      "would name no node",
  },
  "no nodes of Flux": {
    runtime: "bad-flux",
    spec: nodes(0),
    want:
      "403 spec.trainer.numNodes: Invalid value: 0: must be greater than or equal to 1 for Flux " +
      "TrainJob, since node 0 leads",
  },
  "no nodes of TensorFlow": {
    runtime: "bad-tensorflow",
    spec: nodes(0),
    want:
      "403 spec.trainer.numNodes: Invalid value: 0: must be at least 1 for mlPolicy.tensorflow: " +
      "nothing would train",
  },
  "nodes of TensorFlow without workers": {
    runtime: "bad-chief",
    spec: nodes(2),
    want:
      "403 spec.trainer.numNodes: Invalid value: 2: must be 1, because the runtime has no job of workers",
  },
  "an empty queue of Volcano": { runtime: "bad-queue", want: NO_QUEUE },
  "an empty queue of Volcano in a patch": {
    runtime: "bad-volcano",
    spec: {
      runtimePatches: [{
        manager: "acme.io/me",
        trainingRuntimeSpec: {
          template: { metadata: { annotations: { [VOLCANO.queueAnnotation]: "" } } },
        },
      }],
    },
    want: NO_QUEUE,
  },
  "a priority class that does not exist": {
    runtime: "bad-priority",
    want:
      '403 spec.templateSpec.priorityClassName: Invalid value: "urgent": PriorityClass "urgent" doesn\'t ' +
      'exist: PriorityClass.scheduling.k8s.io "urgent" not found',
  },
  "Kueue's patch of an unknown job": {
    runtime: "bad-plain",
    spec: { suspend: true, runtimePatches: patchOf(KUEUE_PATCH_MANAGER, "worker", {}) },
    want: UNKNOWN_JOB,
  },
};

Deno.test("a TrainJob that its policy cannot run is refused in upstream's words, and nothing is made", async (t) => {
  const { client } = shared();
  for (const [what, { runtime, spec = {}, want }] of Object.entries(REFUSED)) {
    await t.step(what, async () => {
      const refused = trainJob("bad", runtime, { spec });
      assert.equal(await refusalOf(client.create(KINDS.trainJob, refused)), want);
    });
  }
  assert.deepEqual((await client.list(KINDS.trainJob, { namespace: "default" })).items, []);
  assert.deepEqual(await objectsOf(client), ["ConfigMap kube-root-ca.crt"]);
});

/** Waits for the condition of a TrainJob whose children cannot be made, and its event. */
async function waits(client: KubeClient, name: string, message: string): Promise<TrainJob> {
  const waiting = await trainJobThat(
    client,
    name,
    "waits",
    ({ status }) => status?.conditions?.some(({ type }) => type === "ResourcesCreated") ?? false,
  );
  const condition = waiting.status?.conditions?.find(({ type }) => type === "ResourcesCreated");
  assert.deepEqual([condition?.status, condition?.message], ["False", message]);
  await until("the event", async () => {
    const { items } = await client.list(KINDS.event, { namespace: "default" });
    return items.some((it) =>
      it.involvedObject.name === name && it.type === "Warning" && it.message?.endsWith(message)
    );
  });
  return waiting;
}

Deno.test("Kueue's patch of an unknown job is refused also in a suspended TrainJob, which stays as it was", async () => {
  const { client } = shared();
  const key = inDefault("queued");
  await client.create(KINDS.trainJob, trainJob("queued", "bad-plain", { spec: { suspend: true } }));
  await trainJobThat(client, "queued", "is paused", ({ status }) => status?.state === "Suspended");
  const before = await until("its JobSet", () => client.get(KINDS.jobSet, key));
  const runtimePatches = patchOf(KUEUE_PATCH_MANAGER, "worker", { nodeSelector: { pool: "a" } });
  for (const spec of [{ runtimePatches }, { runtimePatches, suspend: false }]) {
    const patched = client.patch(KINDS.trainJob, key, { type: "merge", body: { spec } });
    assert.equal(await refusalOf(patched), UNKNOWN_JOB);
  }
  const after = await client.get(KINDS.trainJob, key);
  assert.deepEqual([after.spec.suspend, after.spec.runtimePatches], [true, undefined]);
  assert.deepEqual((await client.get(KINDS.jobSet, key)).spec, before.spec);
  await client.delete(KINDS.trainJob, key);
  await until("all of it to be gone", async () => (await objectsOf(client)).length === 1);
});

for (const runtime of ["bad-volcano", "bad-coscheduling"]) {
  Deno.test(`a TrainJob on ${runtime} names the CRD of the scheduler that is not installed`, async () => {
    const { client } = shared();
    const [api, crd] = runtime === "bad-volcano"
      ? ["scheduling.volcano.sh/v1beta1", "podgroups.scheduling.volcano.sh"]
      : ["scheduling.x-k8s.io/v1alpha1", "podgroups.scheduling.x-k8s.io"];
    await client.create(KINDS.trainJob, trainJob(runtime, runtime));
    await waits(
      client,
      runtime,
      `the API server does not serve PodGroup of ${api}: install the CRD ${crd} with the scheduler ` +
        "that the runtime names; the TrainJob then starts",
    );
    assert.deepEqual(await objectsOf(client), ["ConfigMap kube-root-ca.crt"]);
    await client.delete(KINDS.trainJob, inDefault(runtime));
  });
}

const { configMaps, secrets } = policyChildNames;
const FOREIGN = [
  { runtime: "bad-openmpi", kind: KINDS.secret, name: secrets.mpiSshAuth("taken") },
  { runtime: "bad-openmpi", kind: KINDS.configMap, name: configMaps.mpiHostfile("taken") },
  { runtime: "bad-flux", kind: KINDS.secret, name: secrets.fluxCurve("taken") },
  { runtime: "bad-flux", kind: KINDS.configMap, name: configMaps.fluxEntrypoint("taken") },
] as const;

for (const { runtime, kind, name } of FOREIGN) {
  Deno.test(`a ${kind.kind} ${name} that is nobody's is left alone, and the TrainJob starts when it is gone`, async () => {
    const { client } = shared();
    const key = inDefault(name);
    const make = () =>
      kind.kind === "Secret"
        ? client.create(KINDS.secret, { metadata: key, data: { theirs: "eA==" } })
        : client.create(KINDS.configMap, { metadata: key, data: { theirs: "x" } });
    const { metadata } = await make();
    await client.create(KINDS.trainJob, trainJob("taken", runtime, { spec: { suspend: true } }));
    await waits(
      client,
      "taken",
      `${kind.kind} "${name}" exists and is owned by no controller; delete it, or give the TrainJob another name`,
    );
    assert.deepEqual(await objectsOf(client), [
      "ConfigMap kube-root-ca.crt",
      `${kind.kind} ${name}`,
    ]);
    const left = await client.get<{ metadata?: { resourceVersion?: string } }>(kind, key);
    assert.equal(left.metadata?.resourceVersion, metadata?.resourceVersion);
    await client.delete(kind, key);
    // Objects of nobody are not watched: the manager looks again within a minute, and at once after a change.
    const body = { metadata: { labels: { look: "again" } } };
    await client.patch(KINDS.trainJob, inDefault("taken"), { type: "merge", body });
    await until("its JobSet", () => client.get(KINDS.jobSet, inDefault("taken")));
    await client.delete(KINDS.trainJob, inDefault("taken"));
    await until("all of it to be gone", async () => (await objectsOf(client)).length === 1);
  });
}
