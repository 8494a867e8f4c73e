/** Test of an MPI job on a shipped runtime in `standalone`, without SSH; a script stands for mpirun. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { Pod } from "../../crds/kubernetes.ts";
import type { KubeClient } from "../../kube/client.ts";
import { trainJob, trainJobThat, withStandalone } from "../support/standalone.ts";
import { until } from "../support/until.ts";

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
  const response = await client.raw(`/api/v1/namespaces/default/pods/${name}/log`);
  return await response.text();
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
