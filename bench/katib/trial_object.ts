/** The Trials of this benchmark, and the program that they train. */
import { KINDS } from "../../crds/kinds.ts";
import { COLLECTORS } from "../../crds/katib_names.ts";
import { NODE } from "../../crds/names.ts";
import { JOB_KEYS } from "../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import type { Trial } from "../../crds/trial.ts";
import type { TrainJobSpec } from "../../crds/trainjob.ts";

/** Where they are. */
export const NAMESPACE = "trials";
/** The push by which the rule is met. */
export const STEP = 3;

/** How one differs from the others. */
export interface TrialChoices {
  /** Of its TrainJob. */
  readonly spec: TrainJobSpec;
  /** Default: one that is met by push {@link STEP}. */
  readonly rules?: readonly unknown[];
  /** Whether its TrainJob stays. Default false, as Katib's. */
  readonly retain?: boolean;
}

/** One push of a loss that falls too slowly: 0.989, 0.988, … The step is the variable `step`. */
export const PUSH =
  `curl -sS --max-time 5 --cacert "$KUBEFLOW_TRAINER_STATUS_CA_CERT" -o /dev/null \\
    -H "Authorization: Bearer $(cat "$KUBEFLOW_TRAINER_STATUS_TOKEN")" \\
    -H "Content-Type: application/json" "$KUBEFLOW_TRAINER_STATUS_URL" -d "{\\"trainerStatus\\": {
      \\"lastUpdatedTime\\": \\"$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)\\",
      \\"metrics\\": [{\\"name\\": \\"loss\\", \\"value\\": \\"0.$((990 - step))\\"}]}}"`;

/** The rule that the push of that step meets. */
export const RULE = { name: "loss", value: "0.5", comparison: "greater", startStep: STEP };
/** The path by which Katib looks for a condition that is True. */
export const conditionPath = (type: string) =>
  `status.conditions.#(type=="${type}")#|#(status=="True")#`;

/** A Trial as Katib's experiment controller makes them, with collector Push. */
export function trialOf(
  name: string,
  { spec, rules = [RULE], retain = false }: TrialChoices,
): Trial {
  return KINDS.trial.parse({
    apiVersion: "kubeflow.org/v1beta1",
    kind: "Trial",
    metadata: { name, namespace: NAMESPACE, labels: { "katib.kubeflow.org/experiment": "bench" } },
    spec: {
      objective: {
        type: "minimize",
        objectiveMetricName: "loss",
        metricStrategies: [{ name: "loss", value: "min" }],
      },
      parameterAssignments: [],
      metricsCollector: { collector: { kind: COLLECTORS.push } },
      primaryPodLabels: { [JOBSET_KEYS.replicatedJobName]: NODE, [JOB_KEYS.completionIndex]: "0" },
      primaryContainerName: NODE,
      successCondition: conditionPath("Complete"),
      failureCondition: conditionPath("Failed"),
      retainRun: retain,
      earlyStoppingRules: rules,
      runSpec: {
        apiVersion: "trainer.kubeflow.org/v1alpha1",
        kind: "TrainJob",
        metadata: { name, namespace: NAMESPACE },
        spec,
      },
    },
  });
}
