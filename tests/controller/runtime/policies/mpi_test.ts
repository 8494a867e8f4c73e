/** Tests of `controller/runtime/policies/mpi/`. */
import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey } from "node:crypto";
import type { Child, ChildContent } from "../../../../controller/runtime/child.ts";
import { NO_PROGRESS } from "../../../support/no_progress.ts";
import {
  authorizedKey,
  generateSshKeys,
} from "../../../../controller/runtime/policies/mpi/ssh_keys.ts";
import { renderJobSet } from "../../../../controller/runtime/render.ts";
import { runtimeProblems } from "../../../../controller/runtime/validation.ts";
import type { ReplicatedJob } from "../../../../crds/jobset.ts";
import type { Container } from "../../../../platform/kube/kubernetes.ts";
import type { MlPolicy } from "../../../../crds/training_runtime.ts";
import type { Trainer } from "../../../../crds/trainjob.ts";
import { jobSetOf, jobSetOrProblems, replicatedJob, runtime, trainJob } from "../../builders.ts";
import { deepFreeze } from "../../memory_view.ts";

const IMAGE = "acme/mpi:1";

function launcher(container: Partial<Container> = {}): ReplicatedJob {
  return replicatedJob("launcher", "trainer", { image: IMAGE, ...container });
}

function nodes(container: Partial<Container> = {}): ReplicatedJob {
  return replicatedJob("node", undefined, { image: IMAGE, command: ["sshd"], ...container });
}

/** The job, which states how many pods it has at a time. */
function many(job: ReplicatedJob, parallelism: number): ReplicatedJob {
  return { ...job, template: { ...job.template, spec: { ...specOf(job), parallelism } } };
}

function specOf({ template: { spec } }: ReplicatedJob) {
  if (spec === undefined) throw new Error("every job of these tests has a spec");
  return spec;
}

/** What is put together; by default a runtime as upstream ships them. */
interface Sketch {
  readonly trainer?: Trainer;
  readonly mpi?: MlPolicy["mpi"];
  readonly numNodes?: number;
  readonly jobs?: ReplicatedJob[];
  readonly subdomain?: string;
}

function render({ trainer, mpi, numNodes = 1, jobs = [nodes(), launcher()], subdomain }: Sketch) {
  const mlPolicy = { numNodes, mpi: { runLauncherAsNode: true, ...mpi } };
  const network = subdomain === undefined ? {} : { network: { subdomain } };
  const from = runtime({ mlPolicy }, { replicatedJobs: jobs, ...network });
  const job = trainJob(trainer === undefined ? {} : { trainer });
  return renderJobSet(deepFreeze({ trainJob: job, runtime: from, executor: "external" }));
}

function childrenOf(sketch: Sketch): Child[] {
  const rendered = render(sketch);
  if (!("children" in rendered)) throw new Error(String(jobSetOrProblems(rendered)));
  return rendered.children(NO_PROGRESS);
}

function hostsOf(sketch: Sketch): unknown {
  const child = childrenOf(sketch).find(({ name }) => name === "tj-mpi-hostfile");
  return child?.mode === "equal" ? child.content.data : undefined;
}

function jobOf(sketch: Sketch, name: string) {
  const job = jobSetOf(render(sketch)).spec?.replicatedJobs?.find((one) => one.name === name);
  const spec = job?.template.spec;
  return { spec, pod: spec?.template.spec, container: spec?.template.spec?.containers[0] };
}

const gpus = (count: string): Partial<Container> => ({
  resources: { limits: { "nvidia.com/gpu": count } },
});

const HOSTS: Record<string, { sketch: Sketch; want: string[] }> = {
  "nodes and a launcher that is one": {
    sketch: { trainer: { numNodes: 3 } },
    want: ["tj-node-0-0.tj slots=1", "tj-node-0-1.tj slots=1", "tj-launcher-0-0.tj slots=1"],
  },
  "nodes alone": {
    sketch: { trainer: { numNodes: 2 }, mpi: { runLauncherAsNode: false } },
    want: ["tj-node-0-0.tj slots=1", "tj-node-0-1.tj slots=1"],
  },
  "one node beside the launcher if one is asked for": {
    sketch: { trainer: { numNodes: 1 } },
    want: ["tj-node-0-0.tj slots=1", "tj-launcher-0-0.tj slots=1"],
  },
  "nodes by the policy": {
    sketch: { numNodes: 3 },
    want: ["tj-node-0-0.tj slots=1", "tj-node-0-1.tj slots=1", "tj-launcher-0-0.tj slots=1"],
  },
  "a subdomain": {
    sketch: { subdomain: "mine" },
    want: ["tj-node-0-0.mine slots=1", "tj-launcher-0-0.mine slots=1"],
  },
  "processes by the TrainJob": {
    sketch: { trainer: { numProcPerNode: 4 }, mpi: { numProcPerNode: 2 } },
    want: ["tj-node-0-0.tj slots=4", "tj-launcher-0-0.tj slots=4"],
  },
  "processes by the runtime, whatever the GPUs": {
    sketch: { mpi: { numProcPerNode: 2 }, jobs: [nodes(gpus("8")), launcher()] },
    want: ["tj-node-0-0.tj slots=2", "tj-launcher-0-0.tj slots=2"],
  },
  "processes by the GPUs of the TrainJob": {
    sketch: { trainer: { resourcesPerNode: { limits: { "nvidia.com/gpu": "2" } } } },
    want: ["tj-node-0-0.tj slots=2", "tj-launcher-0-0.tj slots=2"],
  },
  "processes by the GPUs of the runtime": {
    sketch: { jobs: [nodes(gpus("8")), launcher()] },
    want: ["tj-node-0-0.tj slots=8", "tj-launcher-0-0.tj slots=8"],
  },
  "processes by the GPUs of the runtime's first job that trains": {
    sketch: { jobs: [nodes(), launcher(gpus("8"))] },
    want: ["tj-node-0-0.tj slots=1", "tj-launcher-0-0.tj slots=1"],
  },
  "processes without the GPUs that the TrainJob takes away": {
    sketch: {
      trainer: { resourcesPerNode: { limits: { "nvidia.com/gpu": "0" } } },
      jobs: [nodes(gpus("8")), launcher(gpus("8"))],
    },
    want: ["tj-node-0-0.tj slots=1", "tj-launcher-0-0.tj slots=1"],
  },
  "MPICH": {
    sketch: { mpi: { mpiImplementation: "MPICH", numProcPerNode: 2 } },
    want: ["tj-node-0-0.tj:2", "tj-launcher-0-0.tj:2"],
  },
  "Intel MPI": {
    sketch: { mpi: { mpiImplementation: "Intel", numProcPerNode: 2 } },
    want: ["tj-node-0-0.tj:2", "tj-launcher-0-0.tj:2"],
  },
};

for (const [what, { sketch, want }] of Object.entries(HOSTS)) {
  Deno.test(`mpi() writes a hostfile for ${what}`, () =>
    deepEqual(hostsOf(sketch), { hostfile: want.map((line) => `${line}\n`).join("") }));
}

const ARGUMENTS = "-o ConnectionAttempts=10";
const VARIABLES = {
  OpenMPI: {
    OMPI_MCA_orte_default_hostfile: "/etc/mpi/hostfile",
    OMPI_MCA_orte_keep_fqdn_hostnames: "true",
    OMPI_MCA_orte_set_default_slots: "2",
    OMPI_MCA_plm_rsh_args: ARGUMENTS,
  },
  Intel: {
    I_MPI_HYDRA_HOST_FILE: "/etc/mpi/hostfile",
    I_MPI_HYDRA_BOOTSTRAP: "ssh",
    I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS: ARGUMENTS,
    I_MPI_PERHOST: "2",
  },
  MPICH: {
    HYDRA_HOST_FILE: "/etc/mpi/hostfile",
    HYDRA_LAUNCHER: "ssh",
    HYDRA_LAUNCHER_EXTRA_ARGS: ARGUMENTS,
  },
} as const;
const DEFAULTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  OpenMPI: {
    PRTE_MCA_prte_default_hostfile: "/etc/mpi/hostfile",
    PRTE_MCA_plm_ssh_args: ARGUMENTS,
  },
};

for (const mpiImplementation of ["OpenMPI", "Intel", "MPICH"] as const) {
  const want = VARIABLES[mpiImplementation];
  const mpi = { mpiImplementation, numProcPerNode: 2 };
  Deno.test(`mpi() gives the launcher the variables of ${mpiImplementation}, before the TrainJob's`, () => {
    const sketch = { mpi, trainer: { env: [{ name: "LOG", value: "debug" }] } };
    const { env = [] } = jobOf(sketch, "launcher").container ?? {};
    const all = Object.entries({ ...want, LOG: "debug", ...DEFAULTS[mpiImplementation] });
    deepEqual(env.map(({ name, value }) => [name, value]), all);
    deepEqual(jobOf(sketch, "node").container?.env, [{ name: "LOG", value: "debug" }]);
  });
  Deno.test(`mpi() reserves the variables of ${mpiImplementation}`, () => {
    const names = Object.keys(want);
    const trainer = { env: names.map((name) => ({ name, value: "mine" })) };
    equal(
      jobSetOrProblems(render({ mpi, trainer })),
      "spec.trainer.env: must not have reserved envs, invalid envs configured: " +
        `[${names.toSorted().join(" ")}]`,
    );
  });
}

Deno.test("mpi() leaves the launcher its own variables for PRRTE", () => {
  const hosts = { name: "PRTE_MCA_prte_default_hostfile", value: "/data/hosts" };
  const args = { name: "PRTE_MCA_plm_ssh_args", value: "-p 2222" };
  const jobs = [nodes(), launcher({ env: [args] })];
  const { env = [] } = jobOf({ trainer: { env: [hosts] }, jobs }, "launcher").container ?? {};
  deepEqual(env.filter(({ name }) => name.startsWith("PRTE_")), [args, hosts]);
});

Deno.test("mpi() mounts the keys everywhere, and the hostfile in the launcher", () => {
  const sketch = { mpi: { sshAuthMountPath: "/home/mpiuser/.ssh" } };
  const keys = {
    name: "mpi-ssh-auth",
    secret: {
      secretName: "tj-mpi-ssh-auth",
      defaultMode: 0o400,
      items: [
        { key: "ssh-privatekey", path: "id_rsa", mode: 0o640 },
        { key: "ssh-publickey", path: "id_rsa.pub", mode: 0o644 },
        { key: "ssh-publickey", path: "authorized_keys", mode: 0o644 },
      ],
    },
  };
  const items = [{ key: "hostfile", path: "hostfile", mode: 0o444 }];
  const hosts = { name: "mpi-hostfile", configMap: { name: "tj-mpi-hostfile", items } };
  const mount = { name: "mpi-ssh-auth", mountPath: "/home/mpiuser/.ssh" };
  const node = jobOf(sketch, "node");
  deepEqual([node.pod?.volumes, node.container?.volumeMounts], [[keys], [mount]]);
  const { pod, container } = jobOf(sketch, "launcher");
  deepEqual(pod?.volumes, [keys, hosts]);
  deepEqual(container?.volumeMounts, [mount, { name: "mpi-hostfile", mountPath: "/etc/mpi" }]);
});

const COUNTS: Record<string, { sketch: Sketch; want: [node: number, launcher: number] }> = {
  "numNodes less the launcher": { sketch: { trainer: { numNodes: 4 } }, want: [3, 1] },
  "numNodes of the policy (G9)": { sketch: { numNodes: 4 }, want: [3, 1] },
  "numNodes 0 of the policy as upstream": { sketch: { numNodes: 0 }, want: [1, 1] },
  "numNodes below 0 of the policy beside a launcher that is none": {
    sketch: { numNodes: -2, mpi: { runLauncherAsNode: false } },
    want: [1, 1],
  },
  "numNodes beside a launcher that is none": {
    sketch: { trainer: { numNodes: 4 }, mpi: { runLauncherAsNode: false } },
    want: [4, 1],
  },
  "the parallelism that the job states": {
    sketch: {
      jobs: [many(nodes(), 5), launcher()],
    },
    want: [5, 1],
  },
  "numNodes if the nodes are the trainer, too": {
    sketch: {
      trainer: { numNodes: 4 },
      jobs: [replicatedJob("node", "trainer", { image: IMAGE, command: ["sshd"] }), launcher()],
    },
    want: [3, 1],
  },
};

for (const [what, { sketch, want }] of Object.entries(COUNTS)) {
  Deno.test(`mpi() counts by ${what}`, () => {
    const counts = ["node", "launcher"].map((name) => jobOf(sketch, name).spec);
    deepEqual(counts.map((spec) => spec?.parallelism), want);
    deepEqual(counts.map((spec) => spec?.completions), want);
  });
}

Deno.test("mpi() leaves the pods of a job that is no step as many as they are", () => {
  const side = many(replicatedJob("side", undefined, { image: IMAGE }), 3);
  const sketch = { trainer: { numNodes: 4 }, jobs: [side, nodes(), launcher()] };
  equal(jobOf(sketch, "side").spec?.parallelism, 3);
});

Deno.test("mpi() gives nodes the resources and the image of a launcher that is one (G9)", () => {
  const trainer = {
    image: "acme/mine:2",
    command: ["mpirun"],
    resourcesPerNode: gpus("2").resources,
  };
  const node = (sketch: Sketch) => jobOf(sketch, "node").container;
  const equipped = node({ trainer });
  deepEqual([equipped?.image, equipped?.command], ["acme/mine:2", ["sshd"]]);
  deepEqual(equipped?.resources, gpus("2").resources);
  equal(
    node({ trainer, jobs: [nodes({ image: "acme/slim:1" }), launcher()] })?.image,
    "acme/slim:1",
  );
  const apart = node({ trainer, mpi: { runLauncherAsNode: false } });
  deepEqual([apart?.image, apart?.resources], [IMAGE, undefined]);
});

const NEITHER =
  "spec.trainer.numNodes: must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not have either launcher and node";
const REFUSED: Record<string, { sketch: Sketch; want: RegExp | string }> = {
  "several nodes without a launcher": {
    sketch: { trainer: { numNodes: 2 }, jobs: [replicatedJob("node", "trainer")] },
    want: NEITHER,
  },
  "several nodes without a node": {
    sketch: { trainer: { numNodes: 2 }, jobs: [launcher()] },
    want: NEITHER,
  },
  "several nodes of a launcher that is none without a node": {
    sketch: { trainer: { numNodes: 2 }, jobs: [launcher()], mpi: { runLauncherAsNode: false } },
    want: /^spec\.runtimeRef: must have a job node in the runtime: .* the 2 nodes of job node$/,
  },
  "several nodes of the policy without a launcher": {
    sketch: { numNodes: 2, jobs: [replicatedJob("node", "trainer")] },
    want: /^spec\.runtimeRef: must have a job launcher in the runtime/,
  },
  "no nodes": {
    sketch: { trainer: { numNodes: 0 } },
    want: /^spec\.trainer\.numNodes: must be at least 1 with the ML policy mpi/,
  },
  "no implementation": {
    sketch: { mpi: { mpiImplementation: "" } },
    want:
      'spec.runtimeRef: MPI implementation "" is not supported; known: OpenMPI, Intel, IntelMPI, MPICH',
  },
};

for (const [what, { sketch, want }] of Object.entries(REFUSED)) {
  Deno.test(`mpi() refuses ${what}`, () => {
    const problems = String(jobSetOrProblems(render(sketch)));
    if (typeof want === "string") equal(problems, want);
    else match(problems, want);
  });
}

Deno.test("mpi() runs one node that is its own launcher", () =>
  deepEqual(
    hostsOf({ trainer: { numNodes: 1 }, jobs: [replicatedJob("node", "trainer")] }),
    { hostfile: "tj-node-0-0.tj slots=1\n" },
  ));

Deno.test("mpi() refuses a runtime without an implementation", () => {
  const { spec } = runtime({ mlPolicy: { mpi: { mpiImplementation: "" } } });
  const problems = spec && runtimeProblems(spec, { executor: "external" });
  deepEqual(problems?.map(({ field }) => field), ["spec.mlPolicy.mpi.mpiImplementation"]);
});

Deno.test("mpi() makes an immutable Secret of new keys, once", async () => {
  const secret = childrenOf({}).find(({ name }) => name === "tj-mpi-ssh-auth");
  if (secret?.mode !== "once") throw new Error("the Secret must be made once");
  const [one, other]: ChildContent[] = [await secret.make(), await secret.make()];
  deepEqual([one?.type, one?.immutable], ["kubernetes.io/ssh-auth", true]);
  deepEqual(Object.keys(Object(one?.data)), ["ssh-privatekey", "ssh-publickey"]);
  notEqual(JSON.stringify(one?.data), JSON.stringify(other?.data));
});

Deno.test("generateSshKeys() returns a key of P-521 in SEC 1, and its line of authorized_keys", async () => {
  const { privateKey, publicKey } = await generateSshKeys();
  match(privateKey, /^-----BEGIN EC PRIVATE KEY-----\n/);
  match(publicKey, /^ecdsa-sha2-nistp521 [A-Za-z0-9+/]+=*\n$/);
  const key = createPrivateKey(privateKey);
  equal(key.export({ format: "jwk" }).crv, "P-521");
  equal(authorizedKey(createPublicKey(key)), publicKey);
});

Deno.test("authorizedKey() has both coordinates of the key in their full length", async () => {
  const { privateKey, publicKey } = await generateSshKeys();
  const blob = Buffer.from(publicKey.split(" ")[1] ?? "", "base64");
  const point = blob.subarray(4 + 19 + 4 + 8 + 4);
  const { x = "", y = "" } = createPrivateKey(privateKey).export({ format: "jwk" });
  const hex = (text: string) => Buffer.from(text, "base64url").toString("hex").padStart(132, "0");
  equal(point.toString("hex"), `04${hex(x)}${hex(y)}`);
});
