/** Tests of v1 jobs that train in `standalone`, as they are and converted to TrainJobs: both see the same. */
import assert from "node:assert/strict";
import { parse as parseYaml, parseAllDocuments, stringify } from "yaml";
import { z } from "zod";
import { convertText } from "../../controller/conversion/convert_text.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Kind } from "../../platform/kube/resource.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { replicaSpecsSchema, type V1Job } from "../../crds/v1/job.ts";
import { V1_KINDS, type V1KindName } from "../../crds/v1/kinds.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isInstalled } from "../support/command.ts";
import { type Environment, pythonEnvironment } from "../support/python_environment.ts";
import { withStandalone } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { debianTorch } from "./debian_torch.ts";
import { SYSTEM_PATH, testWith, textsOf } from "./seen_training.ts";
import { podLog } from "../support/pod_log.ts";

const NAMESPACE = "default";
const TRAINING_MS = 480_000;
const root = new URL("../../", import.meta.url);

/** A v1 job of two replicas, and its program. */
interface V1Training {
  readonly kind: V1KindName;
  readonly manifest: string;
  readonly program: string;
  /** The port at which the master is found. */
  readonly port: number | undefined;
  /** What `TF_CONFIG` says of a rank, or that other variables were read. */
  readonly role: (rank: number) => string;
}

/** What a program printed of its place. */
const seenSchema = z.strictObject({
  rank: z.number(),
  world: z.number(),
  master: z.string(),
  port: z.number(),
  role: z.string(),
});

/** A pod as it was seen last, and its log. */
interface SeenPod {
  readonly pod: Pod;
  readonly log: string;
}

/** The status of either kind of job, as far as it is read here. */
interface Ended {
  readonly reason: string | undefined;
  readonly progress: number | undefined;
  readonly accuracy: number;
}

const textOf = (path: string) => Deno.readTextFile(new URL(path, root));

/** The job, whose containers find the programs of the environment first. */
async function jobOf({ kind, manifest }: V1Training, bin: string): Promise<V1Job> {
  const job = V1_RESOURCES[kind].parse(parseYaml(await textOf(manifest)));
  const { specsKey } = V1_KINDS[kind];
  const env = [{ name: "PATH", value: `${bin}:${SYSTEM_PATH}` }];
  const specs = Object.entries(replicaSpecsSchema.parse(job.spec[specsKey])).map(([type, one]) => {
    const containers = one?.template?.spec?.containers.map((it) => ({ ...it, env }));
    return [type, {
      ...one,
      template: { ...one?.template, spec: { ...one?.template?.spec, containers } },
    }];
  });
  const metadata = { ...job.metadata, namespace: NAMESPACE };
  return V1_RESOURCES[kind].parse({
    ...job,
    metadata,
    spec: { ...job.spec, [specsKey]: Object.fromEntries(specs) },
  });
}

/** The files of the pods: what prints the place is called as the program is, which it then runs. */
async function createProgram(client: KubeClient, { program }: V1Training, name: string) {
  const data = {
    ...await textsOf(["examples/training/report.py", "examples/training/digits.txt"]),
    "train.py": await textOf("tests/training/programs/v1_rendezvous.py"),
    "program.py": await textOf(program),
  };
  const metadata = { name, namespace: NAMESPACE };
  await client.create(KINDS.configMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
}

/** Adds what can be seen of the pods now. */
async function see(client: KubeClient, labelSelector: string, seen: Map<string, SeenPod>) {
  const { items } = await client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector });
  for (const pod of items) {
    const name = pod.metadata?.name ?? "";
    const log = await podLog(client, name, NAMESPACE) ?? seen.get(name)?.log ?? "";
    seen.set(name, { pod, log });
  }
}

/** Waits until the job has ended; the pods, by their names, as they were seen. */
async function watched(
  client: KubeClient,
  labelSelector: string,
  endOf: () => Promise<Ended | undefined>,
): Promise<{ ended: Ended; pods: SeenPod[] }> {
  const seen = new Map<string, SeenPod>();
  const logs = () => [...seen].map(([name, { log }]) => `--- ${name}\n${log}`).join("\n");
  try {
    const ended = await until("the job has ended", async () => {
      await see(client, labelSelector, seen);
      return await endOf();
    }, { timeoutMs: TRAINING_MS, everyMs: 200 });
    return { ended, pods: [...seen.values()] };
  } catch (error) {
    throw new Error(`${error}\n${logs()}`);
  }
}

interface WithStatus {
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
    }[];
    readonly trainerStatus?: {
      readonly progressPercentage?: number | null;
      readonly metrics?: readonly { readonly name: string; readonly value: string }[] | null;
    } | null;
  };
}

/** The end of a job with its progress; a job that has failed has ended without. */
async function endOf<T extends WithStatus>(
  client: KubeClient,
  kind: Kind<T>,
  name: string,
): Promise<Ended | undefined> {
  const { status } = await client.get(kind, { namespace: NAMESPACE, name });
  const last = status?.conditions?.find((it) =>
    ["Succeeded", "Complete", "Failed"].includes(it.type) && it.status === "True"
  );
  const progress = status?.trainerStatus?.progressPercentage ?? undefined;
  if (last === undefined || (last.type !== "Failed" && progress !== 100)) return undefined;
  const accuracy = status?.trainerStatus?.metrics?.find((it) => it.name === "accuracy");
  return { reason: last.reason ?? last.type, progress, accuracy: Number(accuracy?.value) };
}

/** What the programs saw, by rank. */
function placesOf(pods: readonly SeenPod[], training: V1Training) {
  const places = pods.map(({ pod, log }) => {
    const line = /^seen (.*)$/m.exec(log)?.[1];
    assert.ok(line !== undefined, `${pod.metadata?.name}: ${log}`);
    return { pod, place: seenSchema.parse(JSON.parse(line)) };
  }).sort((a, b) => a.place.rank - b.place.rank);
  // Processes reach a pod at the loopback address behind the one that it has in the API.
  const master = places[0]?.pod.status?.podIP?.replace(/^100\./, "127.");
  assert.ok(master, JSON.stringify(places));
  assert.deepEqual(
    places.map(({ place }) => place),
    [0, 1].map((rank) => {
      const { port, role } = training;
      return { rank, world: 2, master, port, role: role(rank) };
    }),
  );
  return places;
}

/** What must be alike in the pods of both jobs, by rank. */
function contentsOf(pods: readonly SeenPod[], training: V1Training) {
  const { container } = V1_KINDS[training.kind];
  return placesOf(pods, training).map(({ pod, place: { rank, world, role } }) => {
    const trains = pod.spec?.containers.find(({ name }) => name === container || name === "node");
    return { rank, world, role, command: trains?.command, resources: trains?.resources };
  });
}

/** Trains as the job is, deletes it, and trains as what it is converted to. */
async function train(client: KubeClient, training: V1Training, bin: string): Promise<void> {
  const { kind } = training;
  const job = await jobOf(training, bin);
  const { name = "" } = job.metadata;
  await createProgram(client, training, name);
  await client.create(V1_RESOURCES[kind], job);
  const original = await watched(
    client,
    `${V1_LABELS.jobName}=${name}`,
    () => endOf(client, V1_RESOURCES[kind], name),
  );
  assert.equal(original.ended.reason, `${kind}Succeeded`, JSON.stringify(original));
  await client.delete(V1_RESOURCES[kind], { namespace: NAMESPACE, name });

  const documents = parseAllDocuments(convertText(stringify(job))).map((it) => it.toJS());
  await client.create(KINDS.trainingRuntime, KINDS.trainingRuntime.parse(documents[0]));
  await client.create(KINDS.trainJob, KINDS.trainJob.parse(documents[1]));
  const converted = await watched(
    client,
    `${JOBSET_KEYS.jobSetName}=${name}`,
    () => endOf(client, KINDS.trainJob, name),
  );
  assert.notEqual(converted.ended.reason, "Failed", JSON.stringify(converted));

  for (const { ended: { progress, accuracy } } of [original, converted]) {
    assert.equal(progress, 100);
    assert.ok(accuracy > 0.9, String(accuracy));
  }
  assert.deepEqual(contentsOf(converted.pods, training), contentsOf(original.pods, training));
}

function seeV1(training: V1Training, environment: Environment, by: string): void {
  testWith(
    environment,
    `${training.kind} of two replicas trains ${by}, and so does the TrainJob to which it is converted`,
    (bin) => withStandalone(({ client }) => train(client, training, bin)),
  );
}

const SOFTMAX = "examples/training/train.py";
const python: Environment = await isInstalled("python3")
  ? { bin: "/usr/local/bin" }
  : { missing: "python3 is not installed" };
const torch = await debianTorch();
const hasTorch = !("missing" in torch);
const fromVariables = () => "variables";

seeV1(
  {
    kind: "PyTorchJob",
    manifest: "examples/training/torch/pytorchjob.yaml",
    program: hasTorch ? "examples/training/torch/train.py" : SOFTMAX,
    port: V1_KINDS.PyTorchJob.port?.number,
    role: fromVariables,
  },
  hasTorch ? torch : python,
  hasTorch ? "by torch over gloo" : "without torch over TCP",
);
seeV1(
  {
    kind: "XGBoostJob",
    manifest: "tests/training/programs/xgboostjob.yaml",
    program: "examples/training/xgboost/train.py",
    port: V1_KINDS.XGBoostJob.port?.number,
    role: fromVariables,
  },
  await pythonEnvironment("xgboost-cpu==3.2.0"),
  "by Rabit's tracker",
);
seeV1(
  {
    kind: "TFJob",
    manifest: "tests/training/programs/tfjob.yaml",
    program: SOFTMAX,
    port: V1_KINDS.TFJob.port?.number,
    role: (rank) => `worker ${rank} of 2 worker`,
  },
  python,
  "by TF_CONFIG",
);
