/** Scene of a journey: a `standalone` of its own process, with the jobs that people meet in their first week. */
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { createClient } from "../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../platform/kube/connection/kubeconfig.ts";
import { type StandaloneProcess, startStandaloneProcess } from "../support/milepost_process.ts";
import { shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { SOURCES } from "../python/interpreter.ts";

/** A program that trains until it is told to stop, or for so many steps. */
const training = (steps: number, rate: number) => `
import time, milepost
with milepost.Run(total=${steps}) as run:
    run.push({"val/loss": 2 * ${rate}}, step=0)
    for step in range(${steps}):
        run.push(step=step, loss=${rate} + 1 / (step + 1), accuracy=1 - ${rate})
        time.sleep(0.1)
`;

const CRASHING = `
print("about to import what is not there", flush=True)
import tochr
`;

/** The jobs of the scene, by their names: a program of Python, and how the job ends or stays. */
const JOBS = {
  trains: { program: training(3_000, 0.1), becomes: "Running" },
  "to-be-stopped": { program: training(3_000, 0.2), becomes: "Running" },
  crashes: { program: CRASHING, becomes: "Failed" },
  "lr-small": { program: training(10, 0.4), becomes: "Complete" },
  "lr-best": { program: training(10, 0.1), becomes: "Complete" },
  "lr-large": { program: training(10, 0.7), becomes: "Complete" },
} as const;

/** More of a resource than any machine has. */
const GPUS = 64;

async function fill(client: KubeClient): Promise<void> {
  for (const [name, { program }] of Object.entries(JOBS)) {
    const command = ["env", `PYTHONPATH=${SOURCES}`, "PYTHONDONTWRITEBYTECODE=1", "python3", "-c"];
    await client.create(
      KINDS.trainJob,
      trainJob(name, "person", { spec: { trainer: { command: [...command, program] } } }),
    );
  }
  const resourcesPerNode = { limits: { "nvidia.com/gpu": `${GPUS}` } };
  await client.create(
    KINDS.trainJob,
    trainJob("wants-gpu", "person", { spec: { trainer: { resourcesPerNode } } }),
  );
}

/** A scene. */
export interface Scene {
  readonly process: StandaloneProcess;
  readonly client: KubeClient;
  readonly kubeconfig: string;
  readonly folder: string;
  /** Ends the process and starts another one on the same folder. */
  restart(): Promise<void>;
}

/** Runs `work` with a scene, of which nothing is left afterwards. */
export async function withScene(work: (scene: Scene) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-scene-" });
  const start = () => startStandaloneProcess(["--data-dir", `${folder}/data`, "--ui-port", "0"]);
  let process = await start();
  const kubeconfig = process.ready.kubeconfig;
  let client = createClient({ connection: loadKubeconfig(kubeconfig) });
  try {
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("person", "sleep 600"));
    await fill(client);
    for (const [name, { becomes }] of Object.entries(JOBS)) {
      await trainJobThat(client, name, `is ${becomes}`, (it) => it.status?.state === becomes);
    }
    await work({
      get process() {
        return process;
      },
      get client() {
        return client;
      },
      kubeconfig,
      folder,
      async restart() {
        client.close();
        await process.stop();
        process = await start();
        client = createClient({ connection: loadKubeconfig(kubeconfig) });
      },
    });
  } finally {
    client.close();
    await process.stop();
    await Deno.remove(folder, { recursive: true });
  }
}
