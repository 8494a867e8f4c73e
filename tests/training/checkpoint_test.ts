/** Test of the example that goes on from its checkpoint with PyTorch, on two nodes that torchrun starts. */
import { withStandalone } from "../support/standalone.ts";
import { seeResumed } from "../support/resumed_training.ts";
import { debianTorch } from "./debian_torch.ts";
import { SYSTEM_PATH, testWith } from "./seen_training.ts";

testWith(
  await debianTorch(),
  "two nodes of torchrun go on from their checkpoint when their job is resumed",
  (bin) =>
    withStandalone(({ client }) =>
      seeResumed(client, (job) => {
        const { trainer } = job.spec;
        const program = trainer?.command?.at(-1)?.replace("train.py", "torch_train.py") ?? "";
        const env = [
          ...trainer?.env ?? [],
          { name: "PATH", value: `${bin}:${SYSTEM_PATH}` },
          { name: "STEP_SECONDS", value: "0.005" },
        ];
        const command = ["torchrun", program];
        return {
          ...job,
          spec: {
            ...job.spec,
            runtimeRef: { ...job.spec.runtimeRef, name: "torch-distributed" },
            trainer: { ...trainer, numNodes: 2, command, env },
          },
        };
      })
    ),
);
