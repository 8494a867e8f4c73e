/** Tests of what is different for pods of MPI jobs, and of the names by which they are found. */
import assert from "node:assert/strict";
import { KINDS } from "../../../../crds/kinds.ts";
import type { Pod } from "../../../../platform/kube/kubernetes.ts";
import { hostNames, Members } from "../../../../standalone/kubelet/launch_agent/job_pods.ts";
import {
  adaptMpiPod,
  agentVariables,
  mpiPodOf,
} from "../../../../standalone/kubelet/launch_agent/mpi_pods.ts";
import { refusalsOf } from "../../../../standalone/kubelet/pod_refusals.ts";

const ADDRESS = { program: "/k/bin/agent", socket: "/k/s", token: "t" };
const PLACE = { loopback: "127.64.0.1", podIP: "100.64.0.1" };
const KEYS = { name: "mpi-ssh-auth", secret: { secretName: "job-mpi-ssh-auth" } };

/** A pod as the shipped runtimes make it, with changes to its container. */
function mpiPod(more: object = {}, spec: object = {}): Pod {
  return KINDS.pod.parse({
    metadata: { name: "p", namespace: "ns" },
    spec: {
      hostname: "job-node-0-0",
      subdomain: "job",
      securityContext: { fsGroup: 1000, seccompProfile: { type: "RuntimeDefault" } },
      volumes: [KEYS],
      containers: [{
        name: "node",
        command: ["/usr/sbin/sshd"],
        args: ["-De"],
        securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false },
        readinessProbe: { tcpSocket: { port: 2222 } },
        volumeMounts: [{ name: KEYS.name, mountPath: "/home/mpiuser/.ssh" }],
        ...more,
      }],
      ...spec,
    },
  });
}

Deno.test("mpiPodOf() recognizes a pod by the Secret of keys that a container mounts", () => {
  assert.deepEqual(mpiPodOf(mpiPod()), { job: "ns/job-mpi-ssh-auth", container: "node" });
  assert.equal(mpiPodOf(mpiPod({ volumeMounts: [] })), undefined);
  assert.equal(mpiPodOf(mpiPod({}, { volumes: [{ name: KEYS.name, emptyDir: {} }] })), undefined);
  assert.equal(mpiPodOf({ metadata: { name: "empty" } }), undefined);
});

Deno.test("adaptMpiPod() leaves users and the SSH server out, so that the pod is not refused", () => {
  const pod = mpiPod({ livenessProbe: { exec: { command: ["true"] } } });
  assert.equal(refusalsOf(pod).length, 2);
  const adapted = adaptMpiPod(pod, ADDRESS);
  assert.deepEqual(refusalsOf(adapted.pod), []);
  assert.deepEqual(adapted.ignored, [
    "spec.securityContext.fsGroup",
    "spec.containers[node].securityContext.runAsUser",
  ]);
  assert.deepEqual(adapted.replaced, ["node"]);
  const container = adapted.pod.spec?.containers[0];
  assert.equal(container?.command?.[0], "/bin/sh");
  assert.equal(container?.args, undefined);
  assert.equal(container?.readinessProbe, undefined);
  assert.deepEqual(container?.livenessProbe, { exec: { command: ["true"] } });
  assert.deepEqual(container?.securityContext, { allowPrivilegeEscalation: false });
  assert.deepEqual(adapted.pod.spec?.securityContext, {
    seccompProfile: { type: "RuntimeDefault" },
  });
});

Deno.test("adaptMpiPod() keeps other commands and their probes, and refuses what else is refused", () => {
  const pod = mpiPod({ command: ["my-sshd"], securityContext: { privileged: true } }, {
    hostNetwork: true,
  });
  const adapted = adaptMpiPod(pod, ADDRESS);
  const container = adapted.pod.spec?.containers[0];
  assert.deepEqual([container?.command, container?.args], [["my-sshd"], ["-De"]]);
  assert.deepEqual(container?.readinessProbe, { tcpSocket: { port: 2222 } });
  assert.deepEqual(adapted.replaced, []);
  assert.deepEqual(refusalsOf(adapted.pod).map(({ field }) => field), [
    "spec.hostNetwork",
    "spec.containers[0].securityContext.privileged",
  ]);
});

Deno.test("adaptMpiPod() names the agent before the variables of the container, which win", () => {
  const own = { name: "HYDRA_LAUNCHER_EXEC", value: "ssh" };
  const adapted = adaptMpiPod(mpiPod({ env: [own] }), ADDRESS);
  assert.deepEqual(adapted.pod.spec?.containers[0]?.env, [...agentVariables(ADDRESS), own]);
});

Deno.test("agentVariables() names a program whose path mpirun would split by its name alone", () => {
  const valueFor = (program: string) => agentVariables({ ...ADDRESS, program })[0]?.value;
  assert.equal(valueFor("/k/bin/agent"), "/k/bin/agent");
  assert.equal(valueFor("/my data/bin/agent"), "milepost-launch-agent");
});

Deno.test("hostNames() has all forms of a pod's name", () => {
  const namesOf = (subdomain: string) => [
    ...hostNames({ namespace: "ns", hostname: "a", subdomain }, PLACE),
  ];
  assert.deepEqual(namesOf("s").toSorted(), [
    "100.64.0.1",
    "127.64.0.1",
    "a",
    "a.s",
    "a.s.ns",
    "a.s.ns.svc",
    "a.s.ns.svc.cluster.local",
  ]);
  assert.deepEqual(namesOf("").toSorted(), ["100.64.0.1", "127.64.0.1", "a"]);
});

Deno.test("Members finds a host in the job of whoever asks, and nowhere else", () => {
  const members = new Members();
  const start = () => undefined;
  const add = (job: string) => members.add(mpiPod(), PLACE, { job, container: "node" }, start);
  const first = add("ns/a");
  const second = add("ns/a");
  const other = add("ns/b");
  assert.equal(members.holder(first.token), first);
  assert.equal(members.holder("guessed"), undefined);
  assert.equal(members.peer(first, "JOB-node-0-0.job."), second);
  assert.equal(members.peer(other, "job-node-0-0.job"), other);
  assert.equal(members.peer(first, "elsewhere"), undefined);
  members.remove(second);
  assert.equal(members.peer(first, "job-node-0-0.job"), first);
  assert.equal(members.holder(second.token), undefined);
});

Deno.test("adaptMpiPod() gives the launcher of an MPIJob the agent in place of kubectl, and keeps the user's own", () => {
  const script = "/etc/mpi/kubexec.sh";
  const volumeMounts = [{ name: "mpi-job-config", mountPath: "/etc/mpi" }];
  const pod = KINDS.pod.parse({
    metadata: { name: "job-launcher", namespace: "ns" },
    spec: {
      volumes: [{ name: "mpi-job-config", configMap: { name: "job-config" } }],
      initContainers: [{ name: "own", command: ["true"] }, { name: "kubectl-delivery" }],
      containers: [{
        name: "mpi",
        command: ["mpirun"],
        env: [
          { name: "OMPI_MCA_plm_rsh_agent", value: script },
          { name: "OMPI_MCA_orte_default_hostfile", value: "/etc/mpi/hostfile" },
          { name: "I_MPI_HYDRA_BOOTSTRAP_EXEC", value: "ssh" },
        ],
        volumeMounts,
      }],
    },
  });
  assert.deepEqual(mpiPodOf(pod), { job: "ns/configmaps/job-config", container: "mpi" });
  assert.equal(refusalsOf(pod).length, 1);
  const adapted = adaptMpiPod(pod, ADDRESS);
  assert.deepEqual(refusalsOf(adapted.pod), []);
  assert.deepEqual(adapted.ignored, ["spec.initContainers[kubectl-delivery]"]);
  const { initContainers, containers } = adapted.pod.spec ?? {};
  assert.deepEqual(initContainers?.map(({ name }) => name), ["own"]);
  const values = Object.fromEntries(containers?.[0]?.env?.map((it) => [it.name, it.value]) ?? []);
  assert.equal(values.OMPI_MCA_plm_rsh_agent, ADDRESS.program);
  assert.equal(values.I_MPI_HYDRA_BOOTSTRAP_EXEC, "ssh");
  assert.equal(values.PRTE_MCA_prte_default_hostfile, "/etc/mpi/hostfile");
});
