/** docs/reference/events.md: reasons of events. */
import { EVENT_REASONS } from "../../crds/names.ts";
import { code, page, table } from "./table.ts";

/** About which object, of which type, and what it says. */
const EVENTS: Readonly<Record<keyof typeof EVENT_REASONS, readonly [string, string, string]>> = {
  resourcesCreationFailed: [
    "TrainJob",
    "Warning",
    "a child cannot be created or changed, and why; the condition `ResourcesCreated` says the same",
  ],
  jobSetCreated: ["TrainJob", "Normal", "its JobSet was created"],
  running: [
    "TrainJob",
    "Normal",
    "the first pod of the trainer step runs, also after a resumption",
  ],
  notStarting: [
    "TrainJob",
    "Warning",
    "no pod of the trainer step runs after five minutes, nor one of the initializers that it waits for, and why: the scheduler's message, an image that cannot be pulled, a ConfigMap that is not there",
  ],
  runtimeMissing: [
    "TrainJob",
    "Warning",
    "its runtime was deleted, and Kueue still needs it while the job runs, or for its deletion in the foreground ([why](../decisions/0003-runtime-snapshot.md))",
  ],
  startTimeNotKept: [
    "TrainJob",
    "Warning",
    "the cluster's definition of TrainJobs drops `status.startTime`, and the manager may not patch ConfigMaps ([why](../decisions/0002-state-and-conditions.md))",
  ],
  suspended: ["TrainJob", "Normal", "the job is suspended"],
  resumed: ["TrainJob", "Normal", "the job is resumed"],
  completed: ["TrainJob", "Normal", "the job has completed; the message of the condition"],
  failed: [
    "TrainJob",
    "Warning",
    "the job has failed: the message of the condition, and of the pod that failed first in the last attempt what it said last or how it ended, its node and its container",
  ],
  restarting: [
    "TrainJob, and jobs of the Training Operator's kinds",
    "Warning",
    "its pods were started again twice, or more often, and the last error; once until they have recovered. Normal: the job [is restarted](../guides/stalls.md#restart-a-job), who asked for it, and why",
  ],
  expired: [
    "TrainJob",
    "Normal",
    "the job was deleted after its time to live, by its annotation or that of its runtime",
  ],
  restarted: [
    "TrainJob, jobs of `kubeflow.org/v1`",
    "Normal",
    "all pods of before a [restart](../guides/stalls.md) are gone, and the job goes on",
  ],
  restartWaits: [
    "TrainJob, jobs of `kubeflow.org/v1`",
    "Warning",
    "a restart waits for a pod that does not go, such as one of a node that is down, and which, or for a right that the manager lacks",
  ],
  restartLimitReached: [
    "TrainJob, jobs of `kubeflow.org/v1`",
    "Warning",
    "a job is stalled, and its [policy](../guides/stalls.md) does not restart it any more, and why",
  ],
  stalled: [
    "TrainJob, and jobs of the Training Operator's kinds",
    "Warning",
    "it runs, and has made no progress for longer than ever: since when, the last step and what is usual ([stalls](../guides/stalls.md))",
  ],
  stallPolicyInvalid: [
    "TrainJob, jobs of `kubeflow.org/v1`",
    "Warning",
    "its [policy](../guides/stalls.md), or that of its runtime, cannot be read, and what is wrong with it; people are only told",
  ],
  progressResumed: [
    "TrainJob, and jobs of the Training Operator's kinds",
    "Normal",
    "it makes progress again, and after how long",
  ],
  notSupported: [
    "TrainJob; Katib's webhook configuration",
    "Warning",
    "what is asked for is not executed; Katib's webhook is called for pods of trials ([Katib](../guides/katib.md))",
  ],
  certificateRotated: ["Secret `kubeflow-trainer-webhook-cert`", "Normal", "a step of a rotation"],
  stopping: [
    "TrainJob, and jobs of the Training Operator's kinds",
    "Normal",
    "the job is to be stopped, how long its grace still is, and the reason and message; once more when a later request has shortened it",
  ],
  earlyStopped: [
    "Trial and TrainJob",
    "Normal",
    "the rule, the value and the report that met it; of a stop that was asked for its reason and message",
  ],
  ruleInvalid: [
    "Trial, or TrainJob with an annotation",
    "Warning",
    "a rule cannot be applied, or a grace cannot be read; the other rules apply",
  ],
  ruleMetricMissing: [
    "Trial, or TrainJob with an annotation",
    "Warning",
    "no pod has pushed a metric that a rule names, with those that were pushed; after ten pushes, and at the end of the job",
  ],
  trialTemplateInvalid: [
    "Trial, or TrainJob with an annotation",
    "Warning",
    "the mistake in the template, and where it is",
  ],
  trialClaimRefused: [
    "TrainJob; Trials that claim the same job",
    "Warning",
    "why the job is not the Trial's: nothing of it is recorded",
  ],
  trialNameClash: [
    "Trials of one name in different namespaces",
    "Warning",
    "only the oldest is recorded in a log that knows trials only by their name (`katib`, `grpc`)",
  ],
  observationRefused: ["Trial or TrainJob", "Warning", "the log will never accept a push"],
  primaryContainerMissing: [
    "Trial, or TrainJob with an annotation",
    "Warning",
    "no pod of the job will be primary, or the primary pod has no such container",
  ],
  trialJobLeft: [
    "Trial",
    "Warning",
    "it was stopped early, and its job, which another operator runs, can be neither deleted nor suspended",
  ],
  trialFailed: [
    "OptimizationJob",
    "Warning",
    "a trial has failed, and why; of one search the first ten are told. What becomes of the search is told with the reasons of its conditions",
  ],
};

const INTRODUCTION =
  `Events are core/v1 with \`firstTimestamp\`, which is what the Kubeflow SDK reads.
\`kubectl get events --field-selector involvedObject.name=NAME\` and \`kubectl describe\` show them.`;

const JOBSETS =
  `On JobSets the built-in executor records upstream's events, one for each change of a condition, and \`NotSupported\`
or \`Invalid\` for what it does not execute.`;

/** The page. */
export function eventsPage(): string {
  const texts = new Map<string, readonly string[]>(Object.entries(EVENTS));
  const rows = Object.entries(EVENT_REASONS).map(([key, reason]) => [
    code(reason),
    ...texts.get(key) ?? [],
  ]);
  return page("Events", [INTRODUCTION, table(["reason", "about", "type", "says"], rows), JOBSETS]);
}
