/** Test of an MPI job on a shipped runtime in `standalone`, without SSH; a script stands for mpirun. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { trainJob, trainJobThat, withStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { podLog } from "../../support/pod_log.ts";

/** Runs its arguments on each host of the hostfile at once, as mpirun does, and ends with the worst exit code. */
const MPIRUN = `
rank=0 agents=
while read -r host slots; do
  PATH= "$OMPI_MCA_plm_rsh_agent" $OMPI_MCA_plm_rsh_args "$host" "RANK=$rank; export RANK; $*" < /dev/null &
  agents="$agents $!" rank=$((rank + 1))
done < "$OMPI_MCA_orte_default_hostfile"
worst=0
for agent in $agents; do wait $agent || worst=$?; done
exit $worst
`;

async function launcherOf(client: KubeClient, job: string): Promise<Pod | undefined> {
  const { items } = await client.list(KINDS.pod, { namespace: "default" });
  return items.find(({ metadata }) => metadata?.name?.startsWith(`${job}-launcher-0-0-`));
}

async function logOfLauncher(client: KubeClient, job: string): Promise<string> {
  const { metadata: { name = "none" } = {} } = await launcherOf(client, job) ?? {};
  return await podLog(client, name) ?? "";
}

Deno.test("an MPI job runs on all pods of a shipped runtime, and fails as its processes do", () =>
  withStandalone(async ({ client }) => {
    const create = async (name: string, program: string) => {
      const command = ["sh", "-c", MPIRUN, "mpirun", program];
      const env = [{ name: "OF", value: "the job" }];
      const trainer = { numNodes: 3, command, env };
      await client.create(
        KINDS.trainJob,
        trainJob(name, "deepspeed-distributed", { spec: { trainer } }),
      );
    };
    await create("good", 'echo "$RANK: $HOSTNAME, $OF"');
    await trainJobThat(client, "good", "is complete", ({ status }) => status?.state === "Complete");
    assert.deepEqual((await logOfLauncher(client, "good")).trimEnd().split("\n").toSorted(), [
      "0: good-node-0-0, the job",
      "1: good-node-0-1, the job",
      "2: good-launcher-0-0, the job",
    ]);
    await create("bad", "exit $RANK");
    // The shipped launcher restarts in place, at longer and longer intervals.
    const exitCode = await until("the launcher has failed", async () => {
      const [container] = (await launcherOf(client, "bad"))?.status?.containerStatuses ?? [];
      return (container?.state?.terminated ?? container?.lastState?.terminated)?.exitCode;
    });
    assert.equal(exitCode, 2);
  }));

Deno.test("an MPIJob of kubeflow.org/v1 runs on its workers without kubectl", () =>
  withStandalone(async ({ client }) => {
    const containers = (command?: string[]) => [{ name: "mpi", image: "acme/mpi:1", command }];
    const command = ["sh", "-c", MPIRUN, "mpirun", 'echo "$RANK: $HOSTNAME"'];
    const launcher = { replicas: 1, template: { spec: { containers: containers(command) } } };
    const job = V1_RESOURCES.MPIJob.parse({
      apiVersion: "kubeflow.org/v1",
      kind: "MPIJob",
      metadata: { name: "old", namespace: "default" },
      spec: {
        runPolicy: { cleanPodPolicy: "Running" },
        mpiReplicaSpecs: {
          Launcher: launcher,
          Worker: { replicas: 2, template: { spec: { containers: containers() } } },
        },
      },
    });
    await client.create(V1_RESOURCES.MPIJob, job);
    const last = await until("the MPIJob has ended", async () => {
      const key = { namespace: "default", name: "old" };
      const { status } = await client.get(V1_RESOURCES.MPIJob, key);
      return status?.conditions?.find(({ type }) => type === "Succeeded" || type === "Failed");
    });
    assert.equal(last.reason, "MPIJobSucceeded", JSON.stringify(last));
    const log = await podLog(client, "old-launcher") ?? "";
    assert.deepEqual(log.trimEnd().split("\n").toSorted(), [
      "0: old-worker-0",
      "1: old-worker-1",
    ]);
  }));
