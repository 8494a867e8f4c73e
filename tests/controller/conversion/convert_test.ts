/** Tests of the conversion of v1 jobs: what programs see in the pods of both, and what is refused. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { convert } from "../../../controller/conversion/convert.ts";
import type { Conversion } from "../../../controller/conversion/conversion.ts";
import { runOf, trainingContainer } from "../../../controller/jobs/defaults.ts";
import { podOf } from "../../../controller/jobs/replica_pod.ts";
import { KIND_RULES } from "../../../controller/jobs/rules_by_kind.ts";
import { replicaName } from "../../../controller/jobs/run.ts";
import { renderJobSet } from "../../../controller/runtime/render.ts";
import type { Container } from "../../../platform/kube/kubernetes.ts";
import type { V1Job } from "../../../crds/v1/job.ts";
import { V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { jobSetOf } from "../builders.ts";

type Fields = Readonly<Record<string, unknown>>;

const container = (kind: V1KindName, more: Fields = {}): Fields => ({
  name: V1_KINDS[kind].container,
  image: "example.com/train:1",
  command: ["python", "train.py"],
  args: ["--epochs=3"],
  resources: { limits: { cpu: "2", memory: "4Gi" } },
  ...more,
});

const replicas = (
  kind: V1KindName,
  count: number,
  more: Fields = {},
  own: Fields = {},
): Fields => ({
  replicas: count,
  template: { spec: { containers: [container(kind, own)] } },
  ...more,
});

function job(kind: V1KindName, specs: Fields, more: Fields = {}, metadata: Fields = {}): V1Job {
  return V1_RESOURCES[kind].parse({
    apiVersion: "kubeflow.org/v1",
    kind,
    metadata: { name: "j", namespace: "team", ...metadata },
    spec: { [V1_KINDS[kind].specsKey]: specs, ...more },
  });
}

function converted(kind: V1KindName, from: V1Job) {
  const conversion = convert(kind, from);
  ok("trainJob" in conversion, JSON.stringify(conversion));
  return conversion;
}

const refusals = (conversion: Conversion) => "refusals" in conversion ? conversion.refusals : [];

/** What a program sees: its variables in the pod of that index. */
function seen({ env = [] }: Container, index: number): Record<string, string> {
  const values: Record<string, string> = {};
  for (const { name, value, valueFrom } of env) {
    const text = value ?? (valueFrom?.fieldRef ? String(index) : "");
    values[name] = text.replace(/\$\(([A-Z_]+)\)/g, (_, other: string) => values[other] ?? "");
  }
  return values;
}

/** The containers that train of all pods, in the order of ranks: of the v1 job, and of the TrainJob. */
function pods(kind: V1KindName, from: V1Job) {
  const run = runOf(V1_KINDS[kind], from);
  const before = run.replicas.flatMap((of) =>
    Array.from({ length: of.count }, (_, index) => {
      const pod = podOf(run, KIND_RULES[kind], { of, index });
      const trains = trainingContainer(V1_KINDS[kind], { spec: pod.spec });
      return { host: replicaName(run, { of, index }), type: of.type, index, container: trains };
    })
  );
  const { trainJob, runtime } = converted(kind, from);
  const rendered = renderJobSet({ trainJob, runtime, executor: "external" });
  const jobSet = jobSetOf(rendered);
  const after = (jobSet.spec?.replicatedJobs ?? []).flatMap(({ name, template }) => {
    const containers = template.spec?.template.spec?.containers ?? [];
    return Array.from({ length: template.spec?.parallelism ?? 1 }, (_, index) => ({
      host: `j-${name}-0-${index}`,
      name,
      index,
      container: containers.find((one) => one.name === "node"),
    }));
  });
  return { before, after, jobSet };
}

/** The parts of a container that conversion leaves. */
const work = (one: Container | undefined) => ({
  image: one?.image,
  command: one?.command,
  args: one?.args,
  resources: one?.resources,
});

const ALIKE = {
  PyTorchJob: {
    specs: { Master: replicas("PyTorchJob", 1), Worker: replicas("PyTorchJob", 3) },
    variables: ["RANK", "WORLD_SIZE", "MASTER_PORT"],
    master: "MASTER_ADDR",
  },
  XGBoostJob: {
    specs: { Master: replicas("XGBoostJob", 1), Worker: replicas("XGBoostJob", 2) },
    variables: ["RANK", "WORLD_SIZE", "MASTER_PORT", "WORKER_PORT"],
    master: "MASTER_ADDR",
  },
  JAXJob: {
    specs: { Worker: replicas("JAXJob", 2) },
    variables: ["PROCESS_ID", "NUM_PROCESSES", "COORDINATOR_PORT"],
    master: "COORDINATOR_ADDRESS",
  },
} as const;

for (const [kind, { specs, variables, master }] of Object.entries(ALIKE)) {
  const name = Object.values(V1_KINDS).find((it) => it.kind === kind)?.kind;
  if (name === undefined) throw new Error(kind);
  Deno.test(`the program of a ${kind} sees the same rank, world and master in a TrainJob`, () => {
    const { before, after } = pods(name, job(name, specs));
    equal(after.length, before.length);
    for (const [rank, one] of before.entries()) {
      const other = after[rank];
      ok(one.container && other?.container);
      deepEqual(work(other.container), work(one.container));
      const [was, is] = [seen(one.container, one.index), seen(other.container, rank)];
      for (const variable of variables) equal(is[variable], was[variable], variable);
      equal(was[master], before[0]?.host);
      equal(is[master], `${after[0]?.host}.j`);
    }
  });
}

Deno.test("the addresses of XGBoost's workers are those of the nodes after the master", () => {
  const { after } = pods("XGBoostJob", job("XGBoostJob", ALIKE.XGBoostJob.specs));
  const [first] = after;
  ok(first?.container);
  equal(seen(first.container, 0).WORKER_ADDRS, "j-node-0-1.j,j-node-0-2.j");
});

Deno.test("the program of a TFJob sees the same types and indexes, and as many of each", () => {
  const specs = {
    Chief: replicas("TFJob", 1),
    PS: replicas("TFJob", 2),
    Worker: replicas("TFJob", 3),
  };
  const { before, after } = pods("TFJob", job("TFJob", specs));
  const config = (one: { container: Container | undefined; index: number }) => {
    ok(one.container);
    return JSON.parse(seen(one.container, one.index).TF_CONFIG ?? "{}");
  };
  const tasks = (all: typeof before | typeof after) =>
    all.map((one) => JSON.stringify(config(one).task)).sort();
  deepEqual(tasks(after), tasks(before));
  const sizes = (cluster: Record<string, string[]>) =>
    Object.fromEntries(
      Object.entries(cluster).map(([type, hosts]) => [type, hosts.length] as const).sort(),
    );
  for (const one of after) {
    deepEqual(sizes(config(one).cluster), { chief: 1, ps: 2, worker: 3 });
    deepEqual(work(one.container), work(before[0]?.container));
  }
});

Deno.test("a TFJob of one replica has no TF_CONFIG, as before", () => {
  const { after } = pods("TFJob", job("TFJob", { Worker: replicas("TFJob", 1) }));
  const [only, ...more] = after;
  ok(only?.container);
  equal(more.length, 0);
  equal(seen(only.container, 0).TF_CONFIG, undefined);
});

Deno.test("the success of the same replicas is that of the job", () => {
  const policies = (kind: V1KindName, specs: Fields, more: Fields = {}) => {
    const { jobSet } = pods(kind, job(kind, specs, more));
    const jobs = jobSet.spec?.replicatedJobs ?? [];
    return {
      jobs: jobSet.spec?.successPolicy?.targetReplicatedJobs,
      first: jobs.filter(({ template }) =>
        template.spec?.successPolicy?.rules[0]?.succeededIndexes === "0"
      ).map(({ name }) => name),
    };
  };
  const two = (kind: V1KindName) => replicas(kind, 2);
  const withMaster = { Master: replicas("PyTorchJob", 1), Worker: two("PyTorchJob") };
  deepEqual(policies("PyTorchJob", withMaster).first, ["node"]);
  deepEqual(policies("PyTorchJob", { Worker: two("PyTorchJob") }).first, []);
  deepEqual(policies("JAXJob", { Worker: two("JAXJob") }).first, []);
  const ps = { PS: two("TFJob"), Worker: two("TFJob") };
  deepEqual(policies("TFJob", ps), { jobs: ["node"], first: ["node"] });
  deepEqual(policies("TFJob", ps, { successPolicy: "AllWorkers" }), { jobs: ["node"], first: [] });
  const chief = { Chief: replicas("TFJob", 1), Worker: two("TFJob") };
  deepEqual(policies("TFJob", chief), { jobs: ["chief"], first: [] });
});

Deno.test("failures end the Job as the restart policy and the limit say", () => {
  const jobOf = (restartPolicy: string, runPolicy: Fields = {}) => {
    const specs = { Worker: replicas("JAXJob", 2, { restartPolicy }) };
    const [one] = converted("JAXJob", job("JAXJob", specs, { runPolicy })).runtime.spec?.template
      .spec?.replicatedJobs ?? [];
    const spec = one?.template.spec;
    return {
      backoffLimit: spec?.backoffLimit,
      restartPolicy: spec?.template.spec?.restartPolicy,
      codes: spec?.podFailurePolicy?.rules[0]?.onExitCodes?.values.length,
    };
  };
  deepEqual(jobOf("Never", { backoffLimit: 3 }), {
    backoffLimit: 0,
    restartPolicy: "Never",
    codes: undefined,
  });
  deepEqual(jobOf("OnFailure", { backoffLimit: 3 }), {
    backoffLimit: 3,
    restartPolicy: "OnFailure",
    codes: undefined,
  });
  deepEqual(jobOf("ExitCode"), {
    backoffLimit: 2_147_483_647,
    restartPolicy: "Never",
    codes: 127,
  });
});

Deno.test("suspension, deadline, manager, labels and annotations go to the TrainJob", () => {
  const from = job("JAXJob", { Worker: replicas("JAXJob", 2) }, {
    runPolicy: {
      suspend: true,
      activeDeadlineSeconds: 60,
      managedBy: "kueue.x-k8s.io/multikueue",
      ttlSecondsAfterFinished: 5,
      schedulingPolicy: { queue: "a" },
      cleanPodPolicy: "All",
    },
  }, {
    labels: { "kueue.x-k8s.io/queue-name": "team" },
    annotations: { mine: "yes", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
  });
  const { trainJob, notes } = converted("JAXJob", from);
  deepEqual(trainJob.metadata, {
    name: "j",
    namespace: "team",
    labels: { "kueue.x-k8s.io/queue-name": "team" },
    annotations: { mine: "yes", "trainer.kubeflow.org/ttl-seconds-after-finished": "5" },
  });
  const { suspend, activeDeadlineSeconds, managedBy } = trainJob.spec;
  deepEqual([suspend, activeDeadlineSeconds, managedBy], [true, 60, "kueue.x-k8s.io/multikueue"]);
  for (const field of ["schedulingPolicy", "cleanPodPolicy"]) {
    ok(notes.some((note) => note.startsWith(field)), field);
  }
});

const REFUSED: Readonly<Record<string, readonly [V1KindName, V1Job, RegExp]>> = {
  "a master with other arguments": [
    "PyTorchJob",
    job("PyTorchJob", {
      Master: replicas("PyTorchJob", 1, {}, { args: ["--lead"] }),
      Worker: replicas("PyTorchJob", 1),
    }),
    /^spec\.pytorchReplicaSpecs\[Worker\]\.template\.spec\.containers\[0\]\.args: is not that of Master/,
  ],
  "other restart policies": [
    "XGBoostJob",
    job("XGBoostJob", {
      Master: replicas("XGBoostJob", 1),
      Worker: replicas("XGBoostJob", 1, { restartPolicy: "ExitCode" }),
    }),
    /^spec\.xgbReplicaSpecs\[Worker\]\.restartPolicy: /,
  ],
  "a replica that is always started again": [
    "JAXJob",
    job("JAXJob", { Worker: replicas("JAXJob", 1, { restartPolicy: "Always" }) }),
    /^spec\.jaxReplicaSpecs\[Worker\]\.restartPolicy: Always /,
  ],
  "elastic workers": [
    "PyTorchJob",
    job("PyTorchJob", { Worker: replicas("PyTorchJob", 2) }, { elasticPolicy: { minReplicas: 1 } }),
    /^spec\.elasticPolicy: /,
  ],
  "processes for GPUs without GPUs": [
    "PyTorchJob",
    job("PyTorchJob", { Master: replicas("PyTorchJob", 1) }, { nprocPerNode: "gpu" }),
    /^spec\.nprocPerNode: gpu /,
  ],
  "more replicas than anybody has": [
    "JAXJob",
    job("JAXJob", { Worker: replicas("JAXJob", 2_147_483_647) }),
    /^spec\.jaxReplicaSpecs\[Worker\]\.replicas: .*, at most 10000 are allowed/,
  ],
  "dynamic workers": [
    "TFJob",
    job("TFJob", { Worker: replicas("TFJob", 2) }, { enableDynamicWorker: true }),
    /^spec\.enableDynamicWorker: /,
  ],
  "parameter servers alone": [
    "TFJob",
    job("TFJob", { PS: replicas("TFJob", 2) }),
    /^spec\.tfReplicaSpecs: /,
  ],
  "a deadline of nothing": [
    "JAXJob",
    job("JAXJob", { Worker: replicas("JAXJob", 1) }, { runPolicy: { activeDeadlineSeconds: 0 } }),
    /^spec\.runPolicy\.activeDeadlineSeconds: /,
  ],
  "MXNet": [
    "MXJob",
    job("MXJob", { Worker: replicas("MXJob", 1) }, { jobMode: "MXTrain" }),
    /^kind: .*MXNet/,
  ],
  "MPI": ["MPIJob", job("MPIJob", { Launcher: replicas("MPIJob", 1) }), /^kind: .*SSH/],
  "Paddle": [
    "PaddleJob",
    job("PaddleJob", { Worker: replicas("PaddleJob", 2) }),
    /^kind: .*Paddle/,
  ],
};

const pod = (kind: V1KindName, spec: Fields): Fields => ({
  replicas: 2,
  template: { spec: { containers: [container(kind)], ...spec } },
});
const affinity = (terms: Fields) => ({
  podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [terms] },
});

/** What would mean something else, or nothing. */
const CHANGED: Readonly<Record<string, readonly [V1KindName, V1Job, RegExp]>> = {
  "one that admission refuses": [
    "JAXJob",
    job("JAXJob", { Worker: replicas("JAXJob", 1, { restartPolicy: "Sometimes" }) }),
    /restartPolicy/,
  ],
  "a variable from a label of v1 pods": [
    "JAXJob",
    job("JAXJob", {
      Worker: replicas("JAXJob", 2, {}, {
        env: [{
          name: "I",
          valueFrom: {
            fieldRef: { fieldPath: "metadata.labels['training.kubeflow.org/replica-index']" },
          },
        }],
      }),
    }),
    /\.env\[0\]\.valueFrom\.fieldRef\.fieldPath: names the label training\.kubeflow\.org\/replica-index/,
  ],
  "pods spread by a label of v1 pods": [
    "JAXJob",
    job("JAXJob", {
      Worker: pod("JAXJob", {
        affinity: affinity({
          topologyKey: "kubernetes.io/hostname",
          labelSelector: { matchLabels: { "training.kubeflow.org/job-name": "j" } },
        }),
      }),
    }),
    /matchLabels: names the label training\.kubeflow\.org\/job-name/,
  ],
  "pods spread by a former label": [
    "JAXJob",
    job("JAXJob", {
      Worker: pod("JAXJob", {
        topologySpreadConstraints: [{
          labelSelector: { matchExpressions: [{ key: "job-name", operator: "Exists" }] },
        }],
      }),
    }),
    /matchExpressions\[0\]\.key: names the label job-name/,
  ],
  "another container with the name of that which trains": [
    "JAXJob",
    job("JAXJob", { Worker: pod("JAXJob", { initContainers: [{ name: "node", image: "i" }] }) }),
    /a container is named node/,
  ],
  "a host name of its own": [
    "JAXJob",
    job("JAXJob", { Worker: pod("JAXJob", { hostname: "mine" }) }),
    /\.hostname: /,
  ],
  "a port of its own": [
    "TFJob",
    job("TFJob", {
      Worker: replicas("TFJob", 2, {}, { ports: [{ name: "tfjob-port", containerPort: 5000 }] }),
    }),
    /tfjob-port is 5000/,
  ],
  "a name that is too long for its nodes": [
    "JAXJob",
    job("JAXJob", { Worker: replicas("JAXJob", 2) }, {}, { name: "j".repeat(60) }),
    /^TrainJob: metadata\.name: /,
  ],
};

Deno.test("names of replicas in commands, arguments and variables become those of nodes, and are noted", () => {
  const own = {
    command: ["train", "--at=j-master-0:1", "/data/j-master-0"],
    args: ["http://j-worker-1/x", "j-worker-10"],
    env: [{ name: "PEERS", value: "j-master-0,j-worker-0.team.svc" }],
  };
  const from = job("PyTorchJob", {
    Master: replicas("PyTorchJob", 1, {}, own),
    Worker: replicas("PyTorchJob", 2, {}, own),
  });
  const { notes } = converted("PyTorchJob", from);
  const { after } = pods("PyTorchJob", from);
  const node = after[0]?.container;
  deepEqual(node?.command, ["train", "--at=j-node-0-0.j:1", "/data/j-master-0"]);
  deepEqual(node?.args, ["http://j-node-0-2.j/x", "j-worker-10"]);
  equal(
    node?.env?.find(({ name }) => name === "PEERS")?.value,
    "j-node-0-0.j,j-node-0-1.j.team.svc",
  );
  for (const name of ["j-master-0", "j-worker-0", "j-worker-1"]) {
    ok(notes.some((note) => note.startsWith(`${name}, which the template names, is j-node-0-`)));
  }
  const servers = job("TFJob", {
    PS: replicas("TFJob", 2, {}, { args: ["--ps=j-ps-1:2222"] }),
    Worker: replicas("TFJob", 2),
  });
  const ps = pods("TFJob", servers).after.find(({ name }) => name === "ps");
  deepEqual(ps?.container?.args, ["--ps=j-ps-0-1.j:2222"]);
});

Deno.test("a variable that the operator set too is there once, with the operator's value", () => {
  const env = [{ name: "RANK", value: "7" }, { name: "PET_NNODES", value: "9" }];
  const own = replicas("PyTorchJob", 1, {}, { env: [...env, { name: "MINE", value: "1" }] });
  const { after } = pods("PyTorchJob", job("PyTorchJob", { Master: own, Worker: own }));
  const names = after[0]?.container?.env?.map(({ name }) => name) ?? [];
  deepEqual(names, [...new Set(names)]);
  ok(names.includes("MINE"));
  ok(after[1]?.container);
  const values = seen(after[1].container, 1);
  deepEqual([values.RANK, values.PET_NNODES], ["1", "2"]);
});

Deno.test("what names the container that trains names it in the TrainJob", () => {
  const profile = "container.apparmor.security.beta.kubernetes.io/";
  const env = [{
    name: "CPU",
    valueFrom: { resourceFieldRef: { containerName: "jax", resource: "limits.cpu" } },
  }];
  const template = {
    metadata: { annotations: { [`${profile}jax`]: "runtime/default", mine: "yes" } },
    spec: { containers: [container("JAXJob", { env })] },
  };
  const { runtime } = converted("JAXJob", job("JAXJob", { Worker: { replicas: 1, template } }));
  const pod = runtime.spec?.template.spec?.replicatedJobs?.[0]?.template.spec?.template;
  deepEqual(pod?.metadata?.annotations, { [`${profile}node`]: "runtime/default", mine: "yes" });
  equal(pod?.spec?.containers[0]?.env?.[0]?.valueFrom?.resourceFieldRef?.containerName, "node");
});

Deno.test("of a job that was read from a cluster its end is left out, and what is lost is noted", () => {
  const from = job("JAXJob", { Worker: replicas("JAXJob", 1) }, {}, {
    ownerReferences: [{ apiVersion: "v1", kind: "Trial", name: "t", uid: "u" }],
    finalizers: ["example.com/keep"],
    annotations: {
      "trainer.kubeflow.org/trainer-status": "{}",
      "trainer.kubeflow.org/trial-template": "{}",
    },
  });
  const { trainJob, notes } = converted("JAXJob", from);
  deepEqual(trainJob.metadata.annotations, { "trainer.kubeflow.org/trial-template": "{}" });
  for (const word of ["Trial t", "example.com/keep", "trainer.kubeflow.org/trial-template"]) {
    ok(notes.some((note) => note.includes(word)), word);
  }
});

for (const [says, [kind, from, why]] of Object.entries({ ...REFUSED, ...CHANGED })) {
  Deno.test(`a ${kind} is refused: ${says}`, () => {
    const all = refusals(convert(kind, from));
    equal(all.length, 1, all.join("\n"));
    ok(why.test(all[0] ?? ""), String(all[0]));
  });
}
