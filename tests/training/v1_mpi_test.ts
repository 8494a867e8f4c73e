/** Test of an MPIJob of `kubeflow.org/v1` in `standalone`: mpirun of Open MPI reaches the workers through the kubelet. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { KINDS } from "../../crds/kinds.ts";
import type { EnvVar } from "../../platform/kube/kubernetes.ts";
import { replicaSpecsSchema, type V1Job } from "../../crds/v1/job.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { pythonEnvironment } from "../support/python_environment.ts";
import { withStandalone } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { OPEN_MPI_HERE, OPEN_MPI_PACKAGES } from "./open_mpi.ts";
import { example, SYSTEM_PATH, testWith, textsOf } from "./seen_training.ts";
import { podLog } from "../support/pod_log.ts";

const KEY = { namespace: "default", name: "mpi-digits" };
const MANIFEST = new URL("programs/mpijob.yaml", import.meta.url);

/** The job, whose containers have more variables. */
async function jobWith(env: readonly EnvVar[]): Promise<V1Job> {
  const job = V1_RESOURCES.MPIJob.parse(parseYaml(await Deno.readTextFile(MANIFEST)));
  const specs = replicaSpecsSchema.parse(job.spec.mpiReplicaSpecs);
  for (const one of Object.values(specs)) {
    for (const container of one?.template?.spec?.containers ?? []) container.env = [...env];
  }
  return { ...job, spec: { ...job.spec, mpiReplicaSpecs: specs } };
}

async function launcherLog(client: KubeClient): Promise<string> {
  return await podLog(client, `${KEY.name}-launcher`, KEY.namespace) ?? "";
}

testWith(
  await pythonEnvironment(...OPEN_MPI_PACKAGES),
  "mpirun of Open MPI trains on the two workers of an MPIJob",
  (bin) =>
    withStandalone(async ({ client }) => {
      const variables = { ...OPEN_MPI_HERE, PATH: `${bin}:${SYSTEM_PATH}` };
      const env = Object.entries(variables).map(([name, value]) => ({ name, value }));
      const data = await textsOf(example("mpi").files);
      await client.create(KINDS.configMap, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: KEY,
        data,
      });
      await client.create(V1_RESOURCES.MPIJob, await jobWith(env));
      const status = await until("the MPIJob has ended", async () => {
        const { status } = await client.get(V1_RESOURCES.MPIJob, KEY);
        const has = (type: string) => status?.conditions?.some((it) => it.type === type);
        const isAtEnd = status?.trainerStatus?.progressPercentage === 100;
        return has("Failed") || (has("Succeeded") && isAtEnd) ? status : undefined;
      }, { timeoutMs: 480_000, everyMs: 500 });
      const log = await launcherLog(client);
      const all = `${JSON.stringify(status)}\n${log}`;
      assert.ok(status.conditions?.some((it) => it.reason === "MPIJobSucceeded"), all);
      const accuracy = status.trainerStatus?.metrics?.find((it) => it.name === "accuracy");
      assert.ok(Number(accuracy?.value) > 0.9, all);
      assert.match(
        log,
        /^Open MPI v5\S*, 2 processes on mpi-digits-worker-0, mpi-digits-worker-1: accuracy 0\.9/m,
      );
    }),
);
