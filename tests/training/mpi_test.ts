/**
 * Tests of MPI over two nodes: mpirun, of Open MPI and of MPICH, reaches the other pod through the kubelet on the
 * runtimes as they are shipped, and by OpenSSH with the keys of the job's Secret. For that the runtimes are without the
 * users that processes of a machine cannot have.
 */
import { KINDS } from "../../crds/kinds.ts";
import type { PodSpec } from "../../platform/kube/kubernetes.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import {
  type Environment,
  pythonEnvironment,
  type PythonPackage,
} from "../support/python_environment.ts";
import { debianSshd } from "./debian_sshd.ts";
import { OPEN_MPI_HERE, OPEN_MPI_PACKAGES } from "./open_mpi.ts";
import { example, seeTraining, shippedRuntime } from "./seen_training.ts";

/** An implementation on a runtime, with what its processes print. */
interface Implementation {
  readonly name: "OpenMPI" | "MPICH";
  readonly runtime: "deepspeed-distributed" | "mlx-distributed";
  readonly packages: readonly PythonPackage[];
  readonly prints: RegExp;
  /** Variables that keep its connections on this machine. */
  readonly env: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
}

const OPEN_MPI: Implementation = {
  name: "OpenMPI",
  runtime: "deepspeed-distributed",
  packages: OPEN_MPI_PACKAGES,
  prints: /^Open MPI v5\S*, 2 processes on \S+-launcher-0-0, \S+-node-0-0: accuracy 0\.9/,
  env: OPEN_MPI_HERE,
};
const MPICH: Implementation = {
  name: "MPICH",
  runtime: "deepspeed-distributed",
  packages: ["mpich==5.0.2", "mpi4py==4.1.2", "numpy==2.4.6"],
  prints: /^MPICH Version:\s*5\S*, 2 processes on \S+-node-0-0, \S+-launcher-0-0: accuracy 0\.9/,
  env: {
    MPIR_CVAR_CH4_NETMOD: "ofi",
    FI_PROVIDER: "tcp",
    FI_TCP_IFACE: "lo",
  },
  command: ["mpirun", "python3", "/workspace/training/train.py"],
};

/** Name of the runtimes that are changed for a test. */
const OWN_RUNTIME = "own-mpi";

const sshd = await debianSshd();

/** Variables that name the program by which the other pods are reached, in place of the kubelet's. */
const SSH = { PRTE_MCA_plm_ssh_agent: "ssh", HYDRA_LAUNCHER_EXEC: "ssh" };

/** The programs of an implementation beside those of OpenSSH. */
async function withSshd({ packages }: Implementation): Promise<Environment> {
  if ("missing" in sshd) return sshd;
  const python = await pythonEnvironment(...packages);
  return "missing" in python ? python : { bin: `${sshd.bin}:${python.bin}` };
}

/** Changes a pod for this machine: no other user, and what OpenSSH's server needs where it runs as root. */
function adaptPod(pod: PodSpec, isNode: boolean): void {
  delete pod.securityContext;
  for (const container of pod.containers) {
    delete container.securityContext;
    if (!isNode) continue;
    container.command = ["mpi-sshd"];
    delete container.args;
    container.volumeMounts = [
      { name: "accounts", mountPath: "/etc/passwd", subPath: "passwd" },
      { name: "sshd", mountPath: "/run/sshd" },
    ];
  }
  if (!isNode) return;
  pod.volumes = [
    { name: "accounts", configMap: { name: "accounts" } },
    { name: "sshd", emptyDir: {} },
  ];
}

/** The shipped runtime for an implementation, under another name. */
async function runtimeOf({ name, runtime }: Implementation): Promise<ClusterTrainingRuntime> {
  const own = await shippedRuntime(runtime);
  own.metadata.name = OWN_RUNTIME;
  if (own.spec?.mlPolicy?.mpi) own.spec.mlPolicy.mpi.mpiImplementation = name;
  return own;
}

/** That runtime with OpenSSH's server of this machine. */
async function sshRuntimeOf(implementation: Implementation): Promise<ClusterTrainingRuntime> {
  const runtime = await runtimeOf(implementation);
  for (const job of runtime.spec?.template?.spec?.replicatedJobs ?? []) {
    const pod = job.template.spec?.template.spec;
    if (pod) adaptPod(pod, job.name === "node");
  }
  return runtime;
}

/** Creates the runtime with OpenSSH, and the accounts of this machine with the one that OpenSSH's server drops its rights to. */
async function prepareSsh(client: KubeClient, implementation: Implementation): Promise<void> {
  const passwd = await Deno.readTextFile("/etc/passwd");
  const line = "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n";
  await client.create(KINDS.configMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "accounts", namespace: "default" },
    data: { passwd: /^sshd:/m.test(passwd) ? passwd : `${passwd}${line}` },
  });
  await client.create(KINDS.clusterTrainingRuntime, await sshRuntimeOf(implementation));
}

/** Registers a test of an implementation. */
function seeMpi(
  { name, runtime, prints, env, command }: Implementation,
  { by, ...way }: {
    readonly by: string;
    readonly environment: Environment;
    /** The runtime, if it is not the one that is shipped. */
    readonly own?: string;
    readonly more?: Readonly<Record<string, string>>;
    readonly prepare?: (client: KubeClient) => Promise<unknown>;
  },
): void {
  seeTraining({
    name: `mpirun of ${name} trains on two nodes of ${runtime} ${by}`,
    environment: way.environment,
    program: example("mpi"),
    prints,
    accuracy: 0.9,
    env: Object.entries({ ...env, ...way.more }).map(([name, value]) => ({ name, value })),
    adapt: (spec) => ({
      ...spec,
      runtimeRef: { ...spec.runtimeRef, name: way.own ?? runtime },
      trainer: { ...spec.trainer, ...command ? { command: [...command] } : {} },
    }),
    prepare: way.prepare,
  });
}

for (
  const implementation of [OPEN_MPI, { ...OPEN_MPI, runtime: "mlx-distributed" } as const, MPICH]
) {
  const isShipped = implementation.name === "OpenMPI";
  seeMpi(implementation, {
    by: "through the kubelet",
    environment: await pythonEnvironment(...implementation.packages),
    ...isShipped ? {} : {
      own: OWN_RUNTIME,
      prepare: async (client) =>
        await client.create(KINDS.clusterTrainingRuntime, await runtimeOf(implementation)),
    },
  });
  seeMpi(implementation, {
    by: "by OpenSSH",
    environment: await withSshd(implementation),
    own: OWN_RUNTIME,
    more: SSH,
    prepare: (client) => prepareSsh(client, implementation),
  });
}
