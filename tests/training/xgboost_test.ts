/** Test of XGBoost: two workers, of which the first runs the tracker. */
import { pythonEnvironment } from "../support/python_environment.ts";
import { example, seeTraining } from "./seen_training.ts";

seeTraining({
  name: "xgboost trains with two workers",
  environment: await pythonEnvironment("xgboost-cpu==3.2.0"),
  program: example("xgboost"),
  prints: /^xgboost \S+, 2 workers: accuracy 0\.9/,
  accuracy: 0.9,
});
