/** Test of PyTorch: DistributedDataParallel over gloo on two nodes, which torchrun starts. */
import { debianTorch } from "./debian_torch.ts";
import { example, seeTraining } from "./seen_training.ts";

seeTraining({
  name: "torch trains with DistributedDataParallel on two nodes",
  environment: await debianTorch(),
  program: example("torch"),
  prints: /^torch \S+, gloo, 2 processes: accuracy 0\.9/,
  accuracy: 0.9,
});
