/** docs/reference/names.md: labels, annotations, conditions, variables, files, ports. */
import { ISTIO_INJECT, KATIB } from "../../crds/katib_names.ts";
import {
  ANNOTATIONS,
  childNames,
  CONTAINER_NAME_ENV,
  IDENTITY_VOLUME,
  LABELS,
  MANAGER,
  OBSERVATION_AUDIENCE,
  PORTS,
  PUSH_AUDIENCE,
  RESUME_ENV,
  STATUS_ENV,
  TRAINJOB_CONDITIONS,
  TRAINJOB_STATES,
} from "../../crds/names.ts";
import { TORCH_ENV } from "../../crds/policy_names.ts";
import { V1_API_VERSION, V1_RUN_BY, V1_RUN_BY_ANNOTATION } from "../../crds/v1/names.ts";
import { code, page, table } from "./table.ts";

/** A text for each key of a table of names, so that a new name cannot be left out. */
type Texts<Table> = Readonly<Record<keyof Table, string>>;

/** A row for each name of a table. */
function rows(
  names: Readonly<Record<string, string | number>>,
  texts: Readonly<Record<string, string>>,
) {
  return Object.entries(names).map(([key, name]) => [code(String(name)), texts[key] ?? ""]);
}

const LABEL_TEXTS: Texts<typeof LABELS> = {
  ancestorStep:
    "on the Job templates of a runtime: the step of the TrainJob that the Job runs (`trainer`, `dataset-initializer`, `model-initializer`)",
  trainJobName: "on pods: their TrainJob. Selects pods; never authorizes them",
  jobKind:
    "on pods of jobs of `kubeflow.org/v1`: the plural of the kind. Selects pods; never authorizes them",
  optimizationJob:
    "on TrainJobs: the OptimizationJob whose trial they are. Selects TrainJobs; never authorizes them",
  trial: "on pods of a trial whose metrics come by push: the Trial",
  framework: "on runtimes: the ML framework, which the SDK reads",
  support: "on runtimes: `deprecated` makes the webhook warn",
  webhookValidation: "on runtimes: `disabled` keeps the validating webhook away",
  multiKueueOrigin:
    "on jobs that MultiKueue has sent to this cluster, by Kueue: their [time to live](../guides/operate.md#let-jobs-go-by-themselves) does not count",
};

const ANNOTATION_TEXTS: Texts<typeof ANNOTATIONS> = {
  earlyStopping:
    "on a TrainJob or a job of `kubeflow.org/v1`, by its user: [early-stopping rules](trials.md#annotations-on-a-trainjob), JSON",
  earlyStoppingCompare:
    "on a TrainJob or a job of `kubeflow.org/v1`, at admission or by its user: [what its rules in JSON compare](trials.md#what-a-rule-compares), `newest` or `best`",
  stopWhen:
    "on a TrainJob or a job of `kubeflow.org/v1`, by its user: [early-stopping rules](trials.md#lines), a condition a line",
  earlyStoppingGrace:
    "on a TrainJob, a job of `kubeflow.org/v1` or a Trial, by its user: time to end by itself, a duration from `0s` to `1h`",
  trialTemplate:
    "on a TrainJob or a job of `kubeflow.org/v1`, by its user: [which pod counts and how the job ends](trials.md#templates), JSON",
  objective:
    "on a TrainJob or a job of `kubeflow.org/v1`, by its user: what the trials of its [search](../guides/page.md#trials-of-a-search) are compared by, such as `minimize loss`",
  pruner:
    "on an OptimizationJob, by its user: which of its trials are stopped early while they run, JSON",
  timeToLive:
    "on a TrainJob, or on a runtime for its TrainJobs: [seconds after its end](../guides/operate.md#let-jobs-go-by-themselves) when a TrainJob is deleted, from `0` to `2147483647`",
  trainerStatus:
    "on a job of `kubeflow.org/v1` whose definition has no `status.trainerStatus`, by the manager: its progress, JSON",
  caBundle: "on pods of trial resources, by the pod webhook: the CAs of the status endpoint, PEM",
  failure:
    "on a job of `kubeflow.org/v1` whose definition has no `status.failure`, by the manager: [why it failed](../guides/troubleshooting.md#state-is-failed), JSON",
  stalled:
    "on a job of `kubeflow.org/v1` whose definition has no `status.stalled`, by the manager: [since when it makes no progress](../guides/stalls.md), JSON",
  checkpoint:
    "on a job of `kubeflow.org/v1` whose definition has no `status.checkpoint`, by the manager: [its newest checkpoint](../guides/stalls.md), JSON",
  restart:
    "on a job of `kubeflow.org/v1` whose definition has no `status.restart`, by the manager: [its last restart](../guides/stalls.md), JSON",
  restartCount:
    "on a JobSet, and on pods of jobs of `kubeflow.org/v1`, by the manager: the count of the restart that they are of",
  stallPolicy:
    "on a TrainJob or a job of `kubeflow.org/v1`, or on a runtime for its TrainJobs, by its user: [what becomes of it when it is stalled](../guides/stalls.md), JSON",
  failureMessage:
    "on a TrainJob or a job of `kubeflow.org/v1`, by its user: `off` keeps what its programs say last out of the job and its events ([security](../guides/security.md))",
  startTime:
    "on the ConfigMap `NAME-runtime-snapshot`, by the manager: `status.startTime` of the TrainJob, where its definition drops that",
  templateHash:
    "on a JobSet, by the manager: fingerprint of the fields that a JobSet never changes",
  fromTemplate:
    "on Jobs of the built-in JobSet executor: what their pods' template has from the JobSet's, JSON",
  manifestHash: "on objects that `standalone` installs: fingerprint of the manifest",
};

const RUN_BY = [
  code(V1_RUN_BY_ANNOTATION),
  `on the CRD of a kind of \`${V1_API_VERSION}\`: \`${V1_RUN_BY}\` makes Milepost ` +
  "[run the kind](../guides/v1-jobs.md)",
];

const CONDITION_TEXTS: Texts<typeof TRAINJOB_CONDITIONS> = {
  suspended: "True once the JobSet is suspended as `spec.suspend` says; removed on resume",
  complete: "True: the job has succeeded, or was stopped early (reason `EarlyStopped`). Final",
  failed: "True: the job has failed. Final, except with the reason `TrainingRuntimeNotSupported`",
  earlyStopped:
    "True: early-stopping rules were met (reason `RulesMet`), or somebody has [stopped the job](http.md#stop-a-job) (the reason of that request). Final",
  resourcesCreated:
    "False: a child cannot be created, and the message says why; removed when the cause is gone",
};

const IDENTITY = [
  [`${STATUS_ENV.kep.url}, ${STATUS_ENV.sdk.url}`, "where to push"],
  [
    `${STATUS_ENV.kep.caCert}, ${STATUS_ENV.sdk.caCert}`,
    `${IDENTITY_VOLUME.mountPath}/${IDENTITY_VOLUME.caFile}`,
  ],
  [
    `${STATUS_ENV.kep.token}, ${STATUS_ENV.sdk.token}`,
    `${IDENTITY_VOLUME.mountPath}/${IDENTITY_VOLUME.tokenFile}`,
  ],
  [CONTAINER_NAME_ENV, "the name of the container"],
  [RESUME_ENV.restart, "the count of the job's last restart, of pods that were made after it"],
  [
    RESUME_ENV.checkpointStep,
    "the step of the checkpoint that was the job's newest when the pod was made",
  ],
  [RESUME_ENV.checkpoint, "where that checkpoint is, if it was said"],
].map((
  [names = "", holds = ""],
) => [names.split(", ").map(code).join(", "), holds.startsWith("/") ? code(holds) : holds]);

const TORCH_TEXTS: Texts<typeof TORCH_ENV> = {
  nnodes: "number of nodes",
  nprocPerNode: "processes on each node, or `auto`",
  nodeRank: "index of this node",
  masterAddr: "host name of the first node; not for torchtune",
  masterPort: "port of the rendezvous; not for torchtune",
};

const PORT_TEXTS: Texts<typeof PORTS> = {
  webhook: "admission webhook, HTTPS",
  webhookService: "the same, on the Service",
  status: "[status endpoint](http.md), HTTPS",
  statusAlias: "the same, on the Service, as upstream's clients expect it",
  metrics: "[metrics](metrics.md), HTTP",
  health: "`/healthz` and `/readyz`, HTTP",
  forward: "calls between replicas, mutual TLS",
  ui: "[page](../guides/page.md#in-a-cluster) in a cluster, HTTPS",
};

const MANAGER_TEXTS: Texts<typeof MANAGER> = {
  name: "Deployment, Service, ServiceAccount, ClusterRole",
  namespace: "namespace of all of these",
  lease: "Lease of the leader; `holderIdentity` is `POD_UID_RANDOM` with the pod's name first",
  forwardAddressAnnotation:
    "annotation of the Lease: where the leader takes calls of other replicas",
  replicaCertificateName: "name in the certificates by which replicas know each other",
  certificateSecret:
    "Secret of CA and serving certificate: `ca.crt`, `ca.key`, `tls.crt`, `tls.key`, during a rotation `ca-next.crt` and `ca-next.key`",
  mutatingConfiguration: "MutatingWebhookConfiguration, written by the manager",
  validatingConfiguration: "ValidatingWebhookConfiguration, written by the manager",
  podWebhook: "webhook for pods of plain TrainJobs (`failurePolicy: Ignore`)",
  trialPodWebhook: "webhook for pods of trials (`failurePolicy: Fail`)",
  publicConfigMap: "ConfigMap from which the SDK reads the version, and other clients the CA",
  admissionPolicy: "ValidatingAdmissionPolicy and its binding: who may make a pod belong to a job",
  writesPolicy:
    "ValidatingAdmissionPolicy and its binding: what the manager may write, and who may make OptimizationJobs",
};

const CHILDREN = [
  ["JobSet", code("NAME"), "what runs"],
  [
    "ConfigMap",
    code(childNames.runtimeSnapshot("NAME")),
    "the runtime that the job began with ([why](../decisions/0003-runtime-snapshot.md))",
  ],
  ["ConfigMap", code(childNames.tlsConfig("NAME")), "the CAs that its pods trust, key `ca.crt`"],
];

/** The page. */
export function namesPage(): string {
  return page("Names", [
    "Names that users, scripts and other controllers may rely on. A change of one is a breaking change and is in the changelog.",
    "## Labels",
    table(["label", ""], rows(LABELS, LABEL_TEXTS)),
    "## Annotations",
    table(["annotation", ""], [...rows(ANNOTATIONS, ANNOTATION_TEXTS), RUN_BY]),
    "## State and conditions of a TrainJob",
    `\`status.state\` is one of ${TRAINJOB_STATES.map(code).join(", ")}: the column STATE. ` +
    "Created holds until a pod of the trainer step has run. [Why there is no condition Running](../decisions/0002-state-and-conditions.md).",
    table(["condition", ""], rows(TRAINJOB_CONDITIONS, CONDITION_TEXTS)),
    "## Objects of a TrainJob",
    table(["kind", "name", ""], CHILDREN),
    "## What a container finds",
    `The volume ${code(IDENTITY_VOLUME.name)} at ${
      code(IDENTITY_VOLUME.mountPath)
    }, with a token for the audience ` +
    `${code(PUSH_AUDIENCE)} that is valid for an hour and renewed in place, and these variables:`,
    table(["variable", "holds"], IDENTITY),
    "With the torch policy also, in the trainer's containers:",
    table(["variable", ""], rows(TORCH_ENV, TORCH_TEXTS)),
    `The primary container of a Katib trial has ${
      code(KATIB.trialNameEnv)
    }; pods of trials have the label ` +
    `${code(KATIB.trialLabel)} and ${code(ISTIO_INJECT)} as label and annotation.`,
    "## Audiences of tokens",
    table(["audience", "for"], [
      [code(PUSH_AUDIENCE), "pushes, and reads of the status by pods"],
      [code(OBSERVATION_AUDIENCE), "reads of observations"],
    ]),
    "## The manager in a cluster",
    table(["name", ""], rows(MANAGER, MANAGER_TEXTS)),
    "## Ports",
    table(["port", ""], rows(PORTS, PORT_TEXTS)),
  ]);
}
