/** Tests of what v1 jobs need besides pods and Services: MPI's files and account, autoscalers, pod groups. */
import assert from "node:assert/strict";
import { gangScheduler, namesOtherScheduler } from "../../../controller/jobs/gang.ts";
import { autoscalerOf } from "../../../controller/jobs/hpa.ts";
import type { JobChild } from "../../../controller/jobs/kind_rules.ts";
import { runOf } from "../../../controller/jobs/defaults.ts";
import { podOf } from "../../../controller/jobs/replica_pod.ts";
import { KIND_RULES } from "../../../controller/jobs/rules_by_kind.ts";
import { groupPods } from "../../../controller/jobs/counts.ts";
import type { Container } from "../../../platform/kube/kubernetes.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import { podsIn, replicaOf, v1Job, v1Run } from "./v1_jobs.ts";

/** An MPIJob whose first containers are changed. */
function mpiRun(
  types: Readonly<Record<string, number>>,
  change: Partial<Container> = {},
  more = {},
) {
  const job = v1Job("MPIJob", types, more);
  const run = runOf(V1_KINDS.MPIJob, job);
  return {
    ...run,
    replicas: run.replicas.map((of) => ({
      ...of,
      template: { spec: { containers: [{ name: "mpi", image: "i", ...change }] } },
    })),
  };
}

const mpi = KIND_RULES.MPIJob;

function childrenOf(run: ReturnType<typeof mpiRun>, pods: Parameters<typeof podsIn>[1] = {}) {
  const children = mpi.children?.(run, groupPods(run, podsIn(run, pods))) ?? [];
  return new Map(children.map((child): [string, JobChild] => [child.kind.kind, child]));
}

const dataOf = (child: JobChild | undefined) =>
  (child?.object as { data?: Record<string, string> } | undefined)?.data ?? {};

Deno.test("an MPIJob's hostfile has its workers, and the script the workers that run", () => {
  const run = mpiRun({ Launcher: 1, Worker: 3 }, {}, { slotsPerWorker: 2 });
  const data = dataOf(
    childrenOf(run, {
      Worker: [["Running"], ["Pending"], ["Running"]],
    }).get("ConfigMap"),
  );
  assert.equal(data["hostfile"], "j-worker-0 slots=2\nj-worker-1 slots=2\nj-worker-2 slots=2\n");
  assert.equal(data["discover_hosts.sh"], "#!/bin/sh\necho j-worker-0:2\necho j-worker-2:2");
  assert.match(data["kubexec.sh"] ?? "", /kubectl exec "\$pod" -- /);
});

Deno.test("a launcher with GPUs is one of the hosts, and the first", () => {
  const run = mpiRun({ Launcher: 1, Worker: 1 }, {
    resources: { limits: { "nvidia.com/gpu": "1" } },
  });
  assert.equal(
    dataOf(childrenOf(run).get("ConfigMap"))["hostfile"],
    "j-launcher slots=1\nj-worker-0 slots=1\n",
  );
  const env = mpi.environment(run, replicaOf(run, "Launcher")).map(({ name }) => name);
  assert.ok(!env.includes("NVIDIA_VISIBLE_DEVICES"));
});

Deno.test("the pods of an MPIJob have the scripts; the launcher has kubectl and an account, a worker sleeps", () => {
  const run = mpiRun({ Launcher: 1, Worker: 1 });
  const launcher = podOf(run, mpi, replicaOf(run, "Launcher"));
  assert.equal(launcher.metadata?.name, "j-launcher");
  assert.equal(launcher.spec?.serviceAccountName, "j-launcher");
  assert.deepEqual(launcher.spec?.initContainers?.map(({ name }) => name), ["kubectl-delivery"]);
  assert.deepEqual(launcher.spec?.volumes?.map(({ name }) => name), [
    "mpi-job-kubectl",
    "mpi-job-config",
  ]);
  const worker = podOf(run, mpi, replicaOf(run, "Worker"));
  assert.deepEqual(worker.spec?.containers[0]?.command, ["sleep"]);
  assert.deepEqual(worker.spec?.containers[0]?.volumeMounts, [
    { name: "mpi-job-config", mountPath: "/etc/mpi" },
  ]);
  assert.equal(worker.spec?.containers[0]?.env, undefined);
  const own = mpiRun({ Launcher: 1, Worker: 1 }, { command: ["sshd"] });
  assert.deepEqual(
    podOf(own, mpi, replicaOf(own, "Worker")).spec?.containers[0]?.command,
    ["sshd"],
  );
});

Deno.test("`autoscalerOf()` scales an elastic PyTorchJob that names metrics", () => {
  const metrics = [{ type: "Resource", resource: { name: "cpu" } }];
  const elasticPolicy = { minReplicas: 1, maxReplicas: 3, metrics };
  const child = autoscalerOf(v1Run("PyTorchJob", { Worker: 2 }, { elasticPolicy }));
  assert.equal(child?.object.metadata?.name, "j");
  assert.deepEqual((child?.object as { spec?: unknown }).spec, {
    scaleTargetRef: { apiVersion: "kubeflow.org/v1", kind: "PyTorchJob", name: "j" },
    minReplicas: 1,
    maxReplicas: 3,
    metrics,
  });
  assert.equal(autoscalerOf(v1Run("PyTorchJob", { Worker: 2 }, { elasticPolicy: {} })), undefined);
  assert.equal(autoscalerOf(v1Run("PaddleJob", { Worker: 2 }, { elasticPolicy })), undefined);
});

/** A TFJob whose types ask for processors, with priority classes. */
function gangRun(schedulingPolicy = {}, priorities: Readonly<Record<string, string>> = {}) {
  const run = v1Run("TFJob", { PS: 1, Worker: 2 }, { runPolicy: { schedulingPolicy } });
  const cpu: Readonly<Record<string, string>> = { PS: "1", Worker: "3" };
  return {
    ...run,
    replicas: run.replicas.map((of) => ({
      ...of,
      template: {
        spec: {
          containers: [{
            name: "tensorflow",
            resources: { requests: { cpu: cpu[of.type] ?? "0" } },
          }],
          ...(priorities[of.type] && { priorityClassName: priorities[of.type] }),
        },
      },
    })),
  };
}

const membersOf = (run: ReturnType<typeof gangRun>, collected = 0) => ({ run, collected });

const values: Readonly<Record<string, number>> = { high: 10, low: 1 };
const priorityOf = (name: string) => values[name] ?? 0;

Deno.test("the group of Volcano has all members, their requests, and a queue", () => {
  assert.deepEqual(gangScheduler("volcano").group(membersOf(gangRun()), priorityOf).spec, {
    minMember: 3,
    minResources: { cpu: "7" },
    queue: "default",
  });
  const policy = { minAvailable: 2, queue: "q", priorityClass: "p", minResources: { cpu: "9" } };
  assert.deepEqual(gangScheduler("volcano").group(membersOf(gangRun(policy)), priorityOf).spec, {
    minMember: 2,
    minResources: { cpu: "9" },
    queue: "q",
    priorityClassName: "p",
  });
});

Deno.test("replicas that have succeeded and are gone are no members: the others would wait for them", () => {
  const minMember = (policy: Record<string, unknown>, collected: number) =>
    Object(
      gangScheduler("coscheduler").group(membersOf(gangRun(policy), collected), priorityOf).spec,
    )
      .minMember;
  assert.equal(minMember({}, 1), 2);
  assert.equal(minMember({ minAvailable: 3 }, 2), 1);
  assert.equal(minMember({ minAvailable: 1 }, 1), 1);
  // What asks for more than there is stays as it is, as the operator's.
  assert.equal(minMember({ minAvailable: 5 }, 0), 5);
});

Deno.test("the first members are those of the highest priority", () => {
  const policy = { minAvailable: 2 };
  const { spec } = gangScheduler("coscheduler").group(
    membersOf(gangRun(policy, { PS: "low", Worker: "high" })),
    priorityOf,
  );
  assert.deepEqual(spec, { minMember: 2, minResources: { cpu: "6" } });
  const other = gangScheduler("coscheduler").group(
    membersOf(gangRun({ ...policy, scheduleTimeoutSeconds: 7 }, { PS: "high", Worker: "low" })),
    priorityOf,
  );
  assert.deepEqual(other.spec, {
    minMember: 2,
    minResources: { cpu: "4" },
    scheduleTimeoutSeconds: 7,
  });
});

Deno.test("a member says so in its scheduler's own way, and keeps a scheduler that it names", () => {
  const run = gangRun();
  const pod = podOf(run, KIND_RULES.TFJob, replicaOf(run, "PS"));
  const byVolcano = gangScheduler("volcano").member(run, "PS", pod);
  assert.equal(byVolcano.spec?.schedulerName, "volcano");
  assert.deepEqual(byVolcano.metadata?.annotations, {
    "scheduling.k8s.io/group-name": "j",
    "volcano.sh/task-spec": "ps",
  });
  const other = gangScheduler("coscheduler").member(run, "PS", {
    ...pod,
    spec: { containers: [], schedulerName: "mine" },
  });
  assert.equal(other.spec?.schedulerName, "mine");
  assert.equal(other.metadata?.labels?.["scheduling.x-k8s.io/pod-group"], "j");
  assert.equal(namesOtherScheduler(run, gangScheduler("volcano")), false);
});
