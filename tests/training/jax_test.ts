/** Test of JAX: `jax.distributed` with two processes. */
import { pythonEnvironment } from "../support/python_environment.ts";
import { example, seeTraining } from "./seen_training.ts";

seeTraining({
  name: "jax trains with jax.distributed in two processes",
  environment: await pythonEnvironment("jax==0.10.2"),
  program: example("jax"),
  prints: /^jax \S+, 2 processes, 2 devices: accuracy 0\.[89]/,
  accuracy: 0.8,
});
