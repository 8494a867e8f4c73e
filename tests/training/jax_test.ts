/** Tests of JAX: `jax.distributed` with two processes. */
import type { TrainJobSpec } from "../../crds/trainjob.ts";
import { pythonEnvironment } from "../support/python_environment.ts";
import { example, seeTraining, type Training } from "./seen_training.ts";

const JAX: Training = {
  name: "jax trains with jax.distributed in two processes",
  environment: await pythonEnvironment("jax==0.10.2"),
  program: example("jax"),
  prints: /^jax \S+, 2 processes, 2 devices: accuracy 0\.[89]/,
  accuracy: 0.8,
};

seeTraining(JAX);

seeTraining({
  ...JAX,
  name: "two jobs of jax train at once, if the coordinators listen at their pods' addresses alone",
  env: [{ name: "JAX_COORDINATOR_BIND_ADDRESS", value: "$(JAX_COORDINATOR_ADDRESS)" }],
  beside: (spec: TrainJobSpec) => spec,
});
