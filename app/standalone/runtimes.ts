/** ClusterTrainingRuntimes of a standalone, so that TrainJobs and the Kubeflow SDK find one at once. */
import { getLogger } from "@logtape/logtape";
import { parse as parseYaml } from "yaml";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { upsert } from "../../platform/kube/upsert.ts";
import deepspeed from "../../deploy/runtimes/deepspeed-distributed.yaml" with { type: "text" };
import jax from "../../deploy/runtimes/jax-distributed.yaml" with { type: "text" };
import mlx from "../../deploy/runtimes/mlx-distributed.yaml" with { type: "text" };
import plain from "../../deploy/runtimes/plain.yaml" with { type: "text" };
import tensorflow from "../../deploy/runtimes/tensorflow-distributed.yaml" with { type: "text" };
import torch from "../../deploy/runtimes/torch-distributed.yaml" with { type: "text" };
import xgboost from "../../deploy/runtimes/xgboost-distributed.yaml" with { type: "text" };

const logger = getLogger(["milepost", "standalone"]);

/** Runtimes whose programs may be on a machine; Flux and torchtune's initializers come in images. */
const RUNTIMES = [deepspeed, jax, mlx, plain, tensorflow, torch, xgboost];

/**
 * Creates the runtimes that are not there; one of the same name stays as it is. The
 * manager must run, because it admits them. A failure is logged: the control plane works without them.
 */
export async function installRuntimes(client: KubeClient): Promise<void> {
  await Promise.all(RUNTIMES.map(async (text) => {
    const runtime = KINDS.clusterTrainingRuntime.parse(parseYaml(text));
    const { name = "" } = runtime.metadata;
    const create = (stored: unknown) => stored === undefined ? runtime : undefined;
    try {
      await upsert(client, KINDS.clusterTrainingRuntime, { name }, create);
    } catch (error) {
      logger.warn("Cannot create a runtime", { name, error: messageOf(error) });
    }
  }));
}
