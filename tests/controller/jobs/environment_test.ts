/** Tests of the variables, labels and ports of v1 jobs' pods and Services. */
import assert from "node:assert/strict";
import type { EnvVar } from "../../../platform/kube/kubernetes.ts";
import type { V1KindName } from "../../../crds/v1/kinds.ts";
import { podOf } from "../../../controller/jobs/replica_pod.ts";
import { KIND_RULES } from "../../../controller/jobs/rules_by_kind.ts";
import { serviceOf } from "../../../controller/jobs/replica_service.ts";
import { replicaOf, type TypeSketch, v1Job, v1Run } from "./v1_jobs.ts";
import { runOf } from "../../../controller/jobs/defaults.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";

type Values = Readonly<Record<string, string>>;

function valuesOf(env: readonly EnvVar[] | undefined): Values {
  return Object.fromEntries(
    (env ?? []).map(({ name, value, valueFrom }) => [
      name,
      value ?? valueFrom?.fieldRef?.fieldPath ?? "",
    ]),
  );
}

interface Case {
  readonly what: string;
  readonly kind: V1KindName;
  readonly types: Readonly<Record<string, TypeSketch>>;
  readonly more?: Readonly<Record<string, unknown>>;
  readonly of: readonly [type: string, index: number];
  /** In this order. */
  readonly want: Values;
}

const at = (name: string) => `${name}.ns.svc:2222`;

const CASES: readonly Case[] = [
  {
    what: "a worker knows all, by type and index",
    kind: "TFJob",
    types: { PS: 1, Worker: 2 },
    of: ["Worker", 1],
    want: {
      TF_CONFIG: JSON.stringify({
        cluster: { ps: [at("j-ps-0")], worker: [at("j-worker-0"), at("j-worker-1")] },
        task: { type: "worker", index: 1 },
        environment: "cloud",
      }),
    },
  },
  {
    what: "a job of one is local",
    kind: "TFJob",
    types: { Worker: 1 },
    of: ["Worker", 0],
    want: {},
  },
  {
    what: "chief and evaluator are part of the cluster",
    kind: "TFJob",
    types: { worker: 1, Chief: 1, Evaluator: 1 },
    of: ["Evaluator", 0],
    want: {
      TF_CONFIG: JSON.stringify({
        cluster: {
          chief: [at("j-chief-0")],
          evaluator: [at("j-evaluator-0")],
          worker: [at("j-worker-0")],
        },
        task: { type: "evaluator", index: 0 },
        environment: "cloud",
      }),
    },
  },
  {
    what: "a dynamic worker knows itself and the parameter servers",
    kind: "TFJob",
    types: { PS: 1, Worker: 2 },
    more: { enableDynamicWorker: true },
    of: ["Worker", 1],
    want: {
      TF_CONFIG: JSON.stringify({
        cluster: { worker: { 1: at("j-worker-1") }, ps: [at("j-ps-0")] },
        task: { type: "worker", index: 1 },
      }),
    },
  },
  {
    what: "a dynamic worker without parameter servers",
    kind: "TFJob",
    types: { Worker: 2 },
    more: { enableDynamicWorker: true },
    of: ["Worker", 0],
    want: {
      TF_CONFIG: JSON.stringify({
        cluster: { worker: { 0: at("j-worker-0") }, ps: null },
        task: { type: "worker", index: 0 },
      }),
    },
  },
  {
    what: "a parameter server of dynamic workers knows itself",
    kind: "TFJob",
    types: { PS: 2, Worker: 1 },
    more: { enableDynamicWorker: true },
    of: ["PS", 1],
    want: {
      TF_CONFIG: JSON.stringify({
        cluster: { worker: {}, ps: [at("j-ps-1")] },
        task: { type: "ps", index: 1 },
      }),
    },
  },
  {
    what: "a worker after its master, with two processes each",
    kind: "PyTorchJob",
    types: { Master: 1, Worker: 2 },
    more: { nprocPerNode: "2" },
    of: ["Worker", 1],
    want: {
      PYTHONUNBUFFERED: "1",
      MASTER_PORT: "23456",
      PET_MASTER_PORT: "23456",
      MASTER_ADDR: "j-master-0",
      PET_MASTER_ADDR: "j-master-0",
      WORLD_SIZE: "6",
      RANK: "2",
      PET_NODE_RANK: "2",
      PET_NPROC_PER_NODE: "2",
      PET_NNODES: "3",
    },
  },
  {
    what: "the master has a name for itself",
    kind: "PyTorchJob",
    types: { Master: {} },
    of: ["Master", 0],
    want: {
      PYTHONUNBUFFERED: "1",
      MASTER_PORT: "23456",
      PET_MASTER_PORT: "23456",
      MASTER_ADDR: "j-master-0",
      PET_MASTER_ADDR: "j-master-0",
      WORLD_SIZE: "1",
      RANK: "0",
      PET_NODE_RANK: "0",
      PET_NPROC_PER_NODE: "auto",
      PET_NNODES: "1",
    },
  },
  {
    what: "elastic workers",
    kind: "PyTorchJob",
    types: { Worker: 2 },
    more: {
      elasticPolicy: {
        minReplicas: 1,
        maxReplicas: 2,
        maxRestarts: 100,
        rdzvConf: [{ key: "a", value: "1" }, { key: "b", value: "2" }],
        standalone: true,
      },
    },
    of: ["Worker", 1],
    want: {
      PYTHONUNBUFFERED: "1",
      PET_NPROC_PER_NODE: "auto",
      PET_RDZV_ENDPOINT: "j-worker-0:23456",
      PET_RDZV_BACKEND: "c10d",
      PET_NNODES: "1:2",
      PET_MAX_RESTARTS: "100",
      PET_RDZV_CONF: "a=1,b=2",
      PET_STANDALONE: "",
    },
  },
  {
    what: "an empty rendezvous configuration, and the deprecated number of processes",
    kind: "PyTorchJob",
    types: { Worker: 3 },
    more: {
      elasticPolicy: { nProcPerNode: 4, rdzvConf: [], rdzvId: "x", rdzvHost: "h", rdzvPort: 5 },
    },
    of: ["Worker", 0],
    want: {
      PYTHONUNBUFFERED: "1",
      PET_RDZV_ENDPOINT: "h:5",
      PET_RDZV_BACKEND: "c10d",
      PET_NNODES: "3:3",
      PET_NPROC_PER_NODE: "4",
      PET_RDZV_ID: "x",
    },
  },
  {
    what: "a worker of LightGBM",
    kind: "XGBoostJob",
    types: { Master: 1, Worker: 2 },
    of: ["Worker", 1],
    want: {
      MASTER_PORT: "9999",
      MASTER_ADDR: "j-master-0",
      WORLD_SIZE: "3",
      RANK: "2",
      PYTHONUNBUFFERED: "1",
      WORKER_PORT: "9999",
      WORKER_ADDRS: "j-worker-0,j-worker-1",
    },
  },
  {
    what: "a master that is alone",
    kind: "XGBoostJob",
    types: { Master: 1 },
    of: ["Master", 0],
    want: {
      MASTER_PORT: "9999",
      MASTER_ADDR: "j-master-0",
      WORLD_SIZE: "1",
      RANK: "0",
      PYTHONUNBUFFERED: "1",
    },
  },
  {
    what: "a worker of MXNet",
    kind: "MXJob",
    types: { Scheduler: 1, Server: 1, Worker: 1 },
    more: { jobMode: "MXTrain" },
    of: ["Worker", 0],
    want: {
      MX_CONFIG: JSON.stringify({
        cluster: {
          scheduler: [{ url: "j-scheduler-0", port: 9091 }],
          server: [{ url: "j-server-0", port: 9091 }],
          worker: [{ url: "j-worker-0", port: 9091 }],
        },
        labels: { scheduler: "", server: "", worker: "" },
        task: { type: "worker", index: 0 },
      }),
      DMLC_PS_ROOT_PORT: "9091",
      DMLC_PS_ROOT_URI: "j-scheduler-0",
      DMLC_NUM_SERVER: "1",
      DMLC_NUM_WORKER: "1",
      DMLC_ROLE: "worker",
      DMLC_USE_KUBERNETES: "1",
      DMLC_WORKER_ID: "0",
    },
  },
  {
    what: "a node of Paddle that is not the first",
    kind: "PaddleJob",
    types: { Worker: 2 },
    of: ["Worker", 1],
    want: {
      PYTHONUNBUFFERED: "1",
      PADDLE_JOB_ID: "j",
      PADDLE_NNODES: "2",
      PADDLE_MASTER: "j-worker-0:36543",
    },
  },
  {
    what: "the first one says its own address",
    kind: "PaddleJob",
    types: { Master: 1, Worker: 1 },
    of: ["Master", 0],
    want: {
      PYTHONUNBUFFERED: "1",
      PADDLE_JOB_ID: "j",
      PADDLE_NNODES: "2",
      POD_IP_DUMMY: "status.podIP",
      PADDLE_MASTER: "$(POD_IP_DUMMY):36543",
      PADDLE_SERVER_NUM: "1",
    },
  },
  {
    what: "a process of JAX",
    kind: "JAXJob",
    types: { Worker: 2 },
    of: ["Worker", 1],
    want: {
      PYTHONUNBUFFERED: "1",
      COORDINATOR_PORT: "6666",
      COORDINATOR_ADDRESS: "j-worker-0",
      NUM_PROCESSES: "2",
      PROCESS_ID: "1",
    },
  },
  {
    what: "a launcher without GPUs",
    kind: "MPIJob",
    types: { Launcher: 1, Worker: 2 },
    of: ["Launcher", 0],
    want: {
      OMPI_MCA_plm_rsh_agent: "/etc/mpi/kubexec.sh",
      OMPI_MCA_orte_default_hostfile: "/etc/mpi/hostfile",
      NVIDIA_VISIBLE_DEVICES: "",
      NVIDIA_DRIVER_CAPABILITIES: "",
      I_MPI_HYDRA_BOOTSTRAP: "rsh",
      I_MPI_HYDRA_BOOTSTRAP_EXEC: "/etc/mpi/kubexec.sh",
    },
  },
];

for (const { what, kind, types, more, of: [type, index], want } of CASES) {
  Deno.test(`variables of a ${kind}: ${what}`, () => {
    const run = v1Run(kind, types, more);
    const pod = podOf(run, KIND_RULES[kind], replicaOf(run, type, index));
    assert.deepEqual(
      Object.entries(valuesOf(pod.spec?.containers[0]?.env)),
      Object.entries(want),
    );
  });
}

Deno.test("`podOf()` gives a pod both generations of labels, the role, the owner and the kind's port", () => {
  const run = v1Run("TFJob", { Worker: { replicas: 2, restartPolicy: "ExitCode" } });
  const [first, second] = [0, 1].map((index) =>
    podOf(run, KIND_RULES.TFJob, replicaOf(run, "Worker", index))
  );
  assert.equal(first?.metadata?.name, "j-worker-0");
  assert.deepEqual(first?.metadata?.labels, {
    "training.kubeflow.org/job-name": "j",
    "training.kubeflow.org/operator-name": "tfjob-controller",
    "training.kubeflow.org/replica-type": "worker",
    "training.kubeflow.org/replica-index": "0",
    "training.kubeflow.org/job-role": "master",
    "group-name": "kubeflow.org",
    "job-name": "j",
    "trainer.kubeflow.org/job-kind": "tfjobs",
    "replica-type": "worker",
    "replica-index": "0",
    "job-role": "master",
  });
  assert.equal(second?.metadata?.labels?.["job-role"], undefined);
  assert.deepEqual(first?.metadata?.ownerReferences, [{
    apiVersion: "kubeflow.org/v1",
    kind: "TFJob",
    name: "j",
    uid: "u-1",
    controller: true,
    blockOwnerDeletion: true,
  }]);
  assert.equal(first?.spec?.restartPolicy, "Never");
  assert.deepEqual(first?.spec?.containers[0]?.ports, [
    { name: "tfjob-port", containerPort: 2222 },
  ]);
});

Deno.test("`podOf()` labels a pod as its Trial's, whatever the template says", () => {
  const run = v1Run("TFJob", { Worker: 1 });
  const { of } = replicaOf(run, "Worker");
  const metadata = { labels: { "trainer.kubeflow.org/trial": "another", team: "vision" } };
  const replica = { of: { ...of, template: { ...of.template, metadata } }, index: 0 };
  const labelsOf = (trial?: string) =>
    podOf(run, KIND_RULES.TFJob, replica, trial).metadata?.labels ?? {};
  assert.equal(labelsOf("search")["trainer.kubeflow.org/trial"], "search");
  assert.equal("trainer.kubeflow.org/trial" in labelsOf(), false);
  assert.equal(labelsOf().team, "vision");
});

Deno.test("`podOf()` makes no pod another job's, whatever the template says", () => {
  const run = v1Run("PyTorchJob", { Master: 1 });
  const { of } = replicaOf(run, "Master");
  const labels = {
    "trainer.kubeflow.org/trainjob-name": "another",
    "trainer.kubeflow.org/job-kind": "tfjobs",
    "training.kubeflow.org/job-name": "another",
    "jobset.sigs.k8s.io/jobset-name": "another",
    team: "vision",
  };
  const replica = { of: { ...of, template: { ...of.template, metadata: { labels } } }, index: 0 };
  const all = podOf(run, KIND_RULES.PyTorchJob, replica).metadata?.labels ?? {};
  assert.equal("trainer.kubeflow.org/trainjob-name" in all, false);
  assert.equal("jobset.sigs.k8s.io/jobset-name" in all, false);
  assert.equal(all["trainer.kubeflow.org/job-kind"], "pytorchjobs");
  assert.equal(all["training.kubeflow.org/job-name"], "j");
  assert.equal(all.team, "vision");
});

Deno.test("`podOf()` shares nothing with the job, nor with another pod of it", () => {
  const job = v1Job("PyTorchJob", { Master: 1, Worker: 2 });
  const before = JSON.stringify(job);
  const run = runOf(V1_KINDS.PyTorchJob, job);
  const pods = [0, 1].map((index) =>
    podOf(run, KIND_RULES.PyTorchJob, replicaOf(run, "Worker", index))
  );
  pods[0]?.spec?.containers[0]?.env?.push({ name: "MORE", value: "1" });
  assert.equal(JSON.stringify(job), before);
  assert.ok(!pods[1]?.spec?.containers[0]?.env?.some(({ name }) => name === "MORE"));
});

Deno.test("`serviceOf()` makes a headless Service that selects one pod, whatever its role", () => {
  const run = v1Run("TFJob", { Worker: 2 });
  const service = serviceOf(run, replicaOf(run, "Worker", 0));
  assert.equal(service.spec?.clusterIP, "None");
  assert.deepEqual(service.spec?.ports, [{ name: "tfjob-port", port: 2222 }]);
  assert.equal(service.spec?.selector?.["training.kubeflow.org/replica-index"], "0");
  assert.equal(service.spec?.selector?.["job-role"], undefined);
  // By what pods of the operator have as well, whose Services are made again after a take-over.
  assert.deepEqual(Object.keys(service.spec?.selector ?? {}).sort(), [
    "training.kubeflow.org/job-name",
    "training.kubeflow.org/operator-name",
    "training.kubeflow.org/replica-index",
    "training.kubeflow.org/replica-type",
  ]);
  assert.partialDeepStrictEqual(service.metadata?.labels, service.spec?.selector);
});

Deno.test("a worker of a PyTorchJob waits for its master after the user's init containers", () => {
  const job = v1Job("PyTorchJob", { Master: 1, Worker: 1 });
  const run = runOf(V1_KINDS.PyTorchJob, job);
  const replica = replicaOf(run, "Worker");
  const template = {
    ...replica.of.template,
    spec: { containers: [{ name: "pytorch" }], initContainers: [{ name: "mine" }] },
  };
  const pod = podOf(run, KIND_RULES.PyTorchJob, { of: { ...replica.of, template }, index: 0 });
  assert.deepEqual(pod.spec?.initContainers?.map(({ name }) => name), ["mine", "init-pytorch"]);
  assert.match(
    pod.spec?.initContainers?.[1]?.command?.[2] ?? "",
    /nslookup j-master-0 \|\| getent hosts j-master-0;/,
  );
  const master = podOf(run, KIND_RULES.PyTorchJob, replicaOf(run, "Master"));
  assert.equal(master.spec?.initContainers, undefined);
});

const ROLES:
  readonly (readonly [V1KindName, Readonly<Record<string, number>>, readonly string[]])[] = [
    ["TFJob", { Chief: 1, Worker: 2 }, ["Chief-0"]],
    ["TFJob", { PS: 1, Worker: 2 }, ["Worker-0"]],
    ["PyTorchJob", { Master: 1, Worker: 1 }, ["Master-0"]],
    ["PyTorchJob", { Worker: 2 }, ["Worker-0"]],
    ["XGBoostJob", { Master: 1, Worker: 1 }, ["Master-0"]],
    ["MXJob", { Scheduler: 1, Server: 2, Worker: 1 }, ["Server-0", "Server-1"]],
    ["PaddleJob", { Worker: 2 }, []],
    ["JAXJob", { Worker: 2 }, ["Worker-0"]],
    ["MPIJob", { Launcher: 1, Worker: 1 }, ["Launcher-0"]],
  ];

for (const [kind, types, want] of ROLES) {
  Deno.test(`the pods with the role master of a ${kind} with ${Object.keys(types)}`, () => {
    const run = v1Run(kind, types);
    const masters = run.replicas.flatMap((of) =>
      Array.from({ length: of.count }, (_, index) => ({ of, index }))
    ).filter((replica) => KIND_RULES[kind].isMaster(run, replica));
    assert.deepEqual(masters.map(({ of, index }) => `${of.type}-${index}`), want);
  });
}

const SETTINGS = {
  pytorchInitContainerImage: "registry.example/waiter:1",
  pytorchInitContainerMaxTries: 7,
  mpiKubectlDeliveryImage: "registry.example/kubectl:1",
  maxPodsPerJob: 10_000,
  customClusterDomain: "cluster.example",
};

/** The pod of a replica under other settings of the administrator. */
function podUnder(kind: V1KindName, types: Readonly<Record<string, number>>, type: string) {
  const run = runOf(V1_KINDS[kind], v1Job(kind, types), SETTINGS);
  return podOf(run, KIND_RULES[kind], replicaOf(run, type));
}

Deno.test("a PyTorchJob's workers wait in the administrator's image, as often as told", () => {
  const [init] = podUnder("PyTorchJob", { Master: 1, Worker: 1 }, "Worker").spec?.initContainers ??
    [];
  assert.equal(init?.image, "registry.example/waiter:1");
  assert.match(init?.command?.[2] ?? "", / -ge 7 /);
});

Deno.test("an MPIJob's launcher has kubectl from the administrator's image", () => {
  const { initContainers } = podUnder("MPIJob", { Launcher: 1, Worker: 1 }, "Launcher").spec ?? {};
  assert.equal(initContainers?.[0]?.image, "registry.example/kubectl:1");
});

Deno.test("a TFJob's addresses have the cluster's domain", () => {
  const { env } = podUnder("TFJob", { PS: 1, Worker: 1 }, "PS").spec?.containers[0] ?? {};
  const config = JSON.parse(valuesOf(env)["TF_CONFIG"] ?? "{}");
  assert.deepEqual(config.cluster, {
    ps: ["j-ps-0.ns.svc.cluster.example:2222"],
    worker: ["j-worker-0.ns.svc.cluster.example:2222"],
  });
});
