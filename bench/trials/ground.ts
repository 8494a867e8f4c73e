/** Control plane with running trials, for a manager that is started beside it. */
import { KINDS } from "../../crds/kinds.ts";
import { NODE, TRAINER_API_VERSION } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { COLLECTORS } from "../../crds/katib_names.ts";
import {
  type ControlPlane,
  startControlPlane,
} from "../../tests/cluster/control_plane/control_plane.ts";
import { install } from "../../tests/cluster/support/installation.ts";
import { shellRuntime } from "../../tests/support/standalone.ts";
import { installTrials } from "../../tests/support/trials.ts";
import { buildGenerator } from "../generator/generator.ts";
import type { Owner } from "../status/objects.ts";
import { shippedProgram, type Side, startMilepost } from "../status/sides.ts";
import { createPushers, type Pusher } from "../status/world.ts";

/** Namespace of the trials. */
export const NAMESPACE = "trials";

/** A Trial whose rules are tested at every report, and never met. */
async function createTrial(client: KubeClient, name: string): Promise<Owner> {
  const trial = KINDS.trial.parse({
    apiVersion: "kubeflow.org/v1beta1",
    kind: "Trial",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      objective: { type: "minimize", objectiveMetricName: "loss" },
      metricsCollector: { collector: { kind: COLLECTORS.push } },
      runSpec: { apiVersion: TRAINER_API_VERSION, kind: "TrainJob" },
      primaryContainerName: NODE,
      earlyStoppingRules: [
        { name: "loss", value: "1e300", comparison: "greater" },
        { name: "accuracy", value: "-1", comparison: "less" },
      ],
    },
  });
  const { apiVersion, kind, metadata } = await client.create(KINDS.trial, trial);
  return { apiVersion, kind, name, uid: metadata.uid ?? "" };
}

/** A control plane with trials, each with its TrainJob and a running pod. */
export interface Ground {
  readonly plane: ControlPlane;
  readonly pushers: readonly Pusher[];
  /** The Trials. */
  readonly owners: readonly Owner[];
  /** Arguments of Deno that run Milepost. */
  readonly program: readonly string[];
  /** Starts the manager as shipped, with these settings; it ends with the ground. */
  start(limits: Readonly<Record<string, string>>): Promise<Side>;
}

/** Runs `work` with a number of trials, which end with it. */
export async function onTrials<T>(
  { trials, say }: { readonly trials: number; readonly say: (text: string) => void },
  work: (ground: Ground) => Promise<T>,
): Promise<T> {
  await buildGenerator();
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({ scheduler: false, controllerManager: false });
  cleanup.defer(() => plane.stop());
  const { client, folder } = plane;
  const installation = await install(plane);
  cleanup.defer(() => installation.stop());
  await installTrials(client);
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("torch-distributed", "true"));
  const owners: Owner[] = [];
  const ownerOf = async (name: string) => {
    const owner = await createTrial(client, name);
    owners.push(owner);
    return owner;
  };
  const pushers = await createPushers(client, {
    namespace: NAMESPACE,
    count: trials,
    say,
    ownerOf,
  });
  const program = await shippedProgram(folder);
  return await work({
    plane,
    pushers,
    owners,
    program,
    async start(limits) {
      const side = await startMilepost({ plane, installation, program }, { limits });
      cleanup.defer(() => side.stop());
      return side;
    },
  });
}
