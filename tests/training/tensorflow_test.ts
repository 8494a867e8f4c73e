/** Test of TensorFlow's variable: a program that reads TF_CONFIG as TensorFlow does trains with two workers. */
import { isInstalled } from "../support/command.ts";
import { seeTraining } from "./seen_training.ts";

const python = await isInstalled("python3")
  ? { bin: "/usr/local/bin" }
  : { missing: "python3 is not installed" };

seeTraining({
  name: "a program that reads TF_CONFIG trains with two workers",
  environment: python,
  program: {
    job: "tests/training/programs/tensorflow.yaml",
    files: [
      "tests/training/programs/tf_config.py",
      "examples/training/train.py",
      "examples/training/report.py",
      "examples/training/digits.txt",
    ],
  },
  prints: /^TF_CONFIG: worker 0 of 2 at \S+:\d+ is done/,
  accuracy: 0.5,
});
