/**
 * Names that Milepost, its users and other controllers agree on: API groups, labels, annotations,
 * conditions, reasons, environment variables, ports and limits. Beside it stand those of JobSets
 * (`jobset_names.ts`), Jobs (`job_names.ts`) and Katib (`katib_names.ts`). Nothing else in the code
 * spells one of them.
 */

/** API group of TrainJobs and runtimes. */
export const TRAINER_GROUP = "trainer.kubeflow.org";
/** The one version of the trainer group. */
export const TRAINER_VERSION = "v1alpha1";
/** `apiVersion` of TrainJobs and runtimes. */
export const TRAINER_API_VERSION = `${TRAINER_GROUP}/${TRAINER_VERSION}`;

/** Values of `spec.managedBy` of a TrainJob. */
export const TRAINJOB_CONTROLLER = "trainer.kubeflow.org/trainjob-controller";
/** Another cluster's Kueue runs the job: this controller stays out. */
export const MULTIKUEUE_CONTROLLER = "kueue.x-k8s.io/multikueue";
/** Manager of the runtime patch that Kueue's webhook adds to every TrainJob. */
export const KUEUE_PATCH_MANAGER = "kueue.x-k8s.io/manager";
/** Finalizer of an object that waits for the end of what it owns, to be removed by the garbage collector. */
export const FOREGROUND_FINALIZER = "foregroundDeletion";

/** Audience of tokens that read observations. */
export const OBSERVATION_AUDIENCE = `observation.${TRAINER_GROUP}`;
/** Longest grace between the decision to stop and the stop, in milliseconds. */
export const EARLY_STOPPING_GRACE_MAX_MS = 3_600_000;

/** Labels of ours and of upstream Trainer. */
export const LABELS = {
  /** On a runtime's Job template: which step of the TrainJob the job is. */
  ancestorStep: "trainer.kubeflow.org/trainjob-ancestor-step",
  /** On pods: the TrainJob they belong to. Selects, never authorizes. */
  trainJobName: "trainer.kubeflow.org/trainjob-name",
  /** On pods of other kinds of jobs: the plural of the kind. Selects, never authorizes. */
  jobKind: "trainer.kubeflow.org/job-kind",
  /** On TrainJobs: the OptimizationJob whose trial they are. Selects, never authorizes. */
  optimizationJob: "trainer.kubeflow.org/optimizationjob-name",
  /** On pods of a trial whose metrics come by push. */
  trial: "trainer.kubeflow.org/trial",
  /** On runtimes: the ML framework, read by the SDK. */
  framework: "trainer.kubeflow.org/framework",
  /** On runtimes: `deprecated` makes the webhook warn. */
  support: "trainer.kubeflow.org/support",
  /** On runtimes: `disabled` keeps the validating webhook away. */
  webhookValidation: "trainer.kubeflow.org/webhook-validation",
  /** On jobs that MultiKueue has sent to this cluster: from where. Kueue's. */
  multiKueueOrigin: "kueue.x-k8s.io/multikueue-origin",
} as const;

/** Values of the ancestor label, each with the container it addresses. */
export const STEPS = {
  datasetInitializer: "dataset-initializer",
  modelInitializer: "model-initializer",
  trainer: "trainer",
} as const;
/** Value of {@link LABELS.ancestorStep}. */
export type Step = typeof STEPS[keyof typeof STEPS];
/** Container addressed by each step. */
export const STEP_CONTAINERS: Readonly<Record<Step, string>> = {
  "dataset-initializer": "dataset-initializer",
  "model-initializer": "model-initializer",
  "trainer": "node",
};
/** By convention the name of the trainer's replicated job, and of its container. */
export const NODE = "node";
/** By convention the name of the MPI launcher's replicated job. */
export const LAUNCHER = "launcher";
/** Volume that the initializers share with the trainer. */
export const INITIALIZER_VOLUME = "initializer";

/** Annotations on TrainJobs and Trials. */
export const ANNOTATIONS = {
  earlyStopping: "trainer.kubeflow.org/early-stopping",
  /** What rules of the former compare that do not say it themselves; written at admission (docs/decisions/0079). */
  earlyStoppingCompare: "trainer.kubeflow.org/early-stopping-compare",
  /** Rules again, in a grammar for people. */
  stopWhen: "trainer.kubeflow.org/stop-when",
  earlyStoppingGrace: "trainer.kubeflow.org/early-stopping-grace",
  trialTemplate: "trainer.kubeflow.org/trial-template",
  /** On a TrainJob or a runtime: seconds after its end when the TrainJob is deleted. */
  timeToLive: "trainer.kubeflow.org/ttl-seconds-after-finished",
  /** On a job of a search: the metric by which it is compared, and which direction is better. */
  objective: "trainer.kubeflow.org/objective",
  /** On an OptimizationJob: which of its trials are stopped early while they run, as JSON. */
  pruner: "trainer.kubeflow.org/pruner",
  /** On a job whose definition has no field for it: its progress, as JSON. */
  trainerStatus: "trainer.kubeflow.org/trainer-status",
  /** On a job whose definition has no field for it: its failure, as JSON. */
  failure: "trainer.kubeflow.org/failure",
  /** On a job whose definition has no field for it: its stall, as JSON. */
  stalled: "trainer.kubeflow.org/stalled",
  /** On a job whose definition has no field for it: its last restart, as JSON. */
  restart: "trainer.kubeflow.org/restart",
  /** On a job whose definition has no field for it: its newest checkpoint, as JSON. */
  checkpoint: "trainer.kubeflow.org/checkpoint",
  /** On JobSets and on pods of v1 jobs: the count of the restart that they are of. */
  restartCount: "trainer.kubeflow.org/restart-count",
  /** On a job or its runtime: what becomes of it when it is stalled, as JSON. */
  stallPolicy: "trainer.kubeflow.org/stall-policy",
  /** On a job: `off` keeps what its programs say last out of the job and its events. */
  failureMessage: "trainer.kubeflow.org/failure-message",
  /** On pods of trial resources: the CAs of the status endpoint, as PEM. */
  caBundle: "trainer.kubeflow.org/ca-bundle",
  /** On a TrainJob's snapshot of its runtime: its `status.startTime`, if the definition of TrainJobs drops that. */
  startTime: "trainer.kubeflow.org/start-time",
  /** On a TrainJob's JobSet: fingerprint of what a JobSet never changes once it is created. */
  templateHash: "trainer.kubeflow.org/template-hash",
  /** On Jobs of the built-in executor: what their pods' template has from the JobSet's, as JSON. */
  fromTemplate: "trainer.kubeflow.org/from-template",
  /** On what standalone installs: the fingerprint of the manifest, so that it is written again only when it changed. */
  manifestHash: "trainer.kubeflow.org/manifest-hash",
} as const;

/** The annotation in which client-side `kubectl apply` keeps the whole object once more. */
export const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Conditions of a TrainJob (docs/decisions/0002). */
export const TRAINJOB_CONDITIONS = {
  suspended: "Suspended",
  complete: "Complete",
  failed: "Failed",
  earlyStopped: "EarlyStopped",
  /** False while a child cannot be made; goes when the cause goes. Ours. */
  resourcesCreated: "ResourcesCreated",
} as const;

/** Reasons of TrainJob conditions. */
export const TRAINJOB_REASONS = {
  suspended: "Suspended",
  resumed: "Resumed",
  deadlineExceeded: "DeadlineExceeded",
  runtimeNotSupported: "TrainingRuntimeNotSupported",
  rulesMet: "RulesMet",
  earlyStopped: "EarlyStopped",
  /** Of a trial that a pruner stopped, that of its search or of a controller elsewhere. */
  pruned: "Pruned",
} as const;

/** Reason of the condition of a job of any kind that failed because its policy stops stalled jobs. */
export const STALLED_REASON = "Stalled";

/** Messages of TrainJob conditions, word for word as upstream's. */
export const TRAINJOB_MESSAGES = {
  suspended: "TrainJob is suspended",
  resumed: "TrainJob is resumed",
  deadlineExceeded: "TrainJob exceeded its active deadline",
} as const;

/** Values of `status.state` of a TrainJob that has not ended, and of one that has (docs/decisions/0002). */
export const OPEN_STATES = ["Created", "Running", "Suspended"] as const;
export const ENDED_STATES = ["Complete", "Failed", "EarlyStopped"] as const;
export const TRAINJOB_STATES = [...OPEN_STATES, ...ENDED_STATES] as const;
/** Returns whether a job, or a trial, in that state has not ended. */
export const isOpenState = (state: string): boolean => OPEN_STATES.some((it) => it === state);
/** State of a job of any kind, as it is shown; the names are a TrainJob's. */
export type ShownState = typeof TRAINJOB_STATES[number];

/** Reasons of core/v1 events. */
export const EVENT_REASONS = {
  resourcesCreationFailed: "TrainJobResourcesCreationFailed",
  jobSetCreated: "JobSetCreated",
  running: "Running",
  notStarting: "NotStarting",
  runtimeMissing: "RuntimeMissing",
  startTimeNotKept: "StartTimeNotKept",
  suspended: "Suspended",
  resumed: "Resumed",
  completed: "Completed",
  failed: "Failed",
  restarting: "Restarting",
  restarted: "Restarted",
  restartWaits: "RestartWaits",
  restartLimitReached: "RestartLimitReached",
  expired: "Expired",
  stalled: STALLED_REASON,
  stallPolicyInvalid: "StallPolicyInvalid",
  progressResumed: "ProgressResumed",
  notSupported: "NotSupported",
  certificateRotated: "CertificateRotated",
  stopping: "Stopping",
  earlyStopped: "EarlyStopped",
  ruleInvalid: "RuleInvalid",
  ruleMetricMissing: "RuleMetricMissing",
  trialTemplateInvalid: "TrialTemplateInvalid",
  trialClaimRefused: "TrialClaimRefused",
  trialNameClash: "TrialNameClash",
  observationRefused: "ObservationRefused",
  primaryContainerMissing: "PrimaryContainerMissing",
  trialJobLeft: "TrialJobLeftRunning",
  /** Of an OptimizationJob; its other events have the reasons of its conditions. */
  trialFailed: "TrialFailed",
} as const;

/** Reasons in observations that no condition of the job has. */
export const OBSERVATION_REASONS = {
  created: "Created",
  templateInvalid: EVENT_REASONS.trialTemplateInvalid,
  conditionsNotMet: "TrialConditionsNotMet",
} as const;

/** The ConfigMaps of every TrainJob, by its name. */
export const childNames = {
  runtimeSnapshot: (trainJob: string) => `${trainJob}-runtime-snapshot`,
  tlsConfig: (trainJob: string) => `${trainJob}-tls-config`,
} as const;
/** The objects that policies make beside the JobSet, by the TrainJob's name: by their kind. */
export const policyChildNames = {
  configMaps: {
    fluxEntrypoint: (trainJob: string) => `${trainJob}-flux-entrypoint`,
    mpiHostfile: (trainJob: string) => `${trainJob}-mpi-hostfile`,
  },
  secrets: {
    fluxCurve: (trainJob: string) => `${trainJob}-flux-curve`,
    mpiSshAuth: (trainJob: string) => `${trainJob}-mpi-ssh-auth`,
  },
} as const;

/** The right to the Secrets of policies: the suffix of its ClusterRole, and the value of the Helm chart that binds it. */
export const POLICY_SECRETS = { role: "policy-secrets", helmValue: "policySecrets" } as const;
/** The right to delete Jobs that a restart makes anew, likewise. */
export const RESTARTS = { role: "restarts", helmValue: "restarts" } as const;

/** The part of the manager that runs OptimizationJobs: the end of its role's name, and the value of the chart. */
export const OPTIMIZATION = { role: "optimization-jobs", helmValue: "optimizationJobs" } as const;

/** Ends of the names of a TrainJob's ConfigMaps. */
export const CHILD_CONFIG_MAP_SUFFIXES: readonly string[] = [
  ...Object.values(childNames),
  ...Object.values(policyChildNames.configMaps),
].map((nameOf) => nameOf(""));

/** Key of the runtime snapshot's ConfigMap. */
export const RUNTIME_SNAPSHOT_KEY = "runtime";
/** Key of a CA bundle in ConfigMaps and Secrets. */
export const CA_KEY = "ca.crt";

/** The identity volume that the pod webhook injects (docs/decisions/0009). */
export const IDENTITY_VOLUME = {
  name: "kubeflow-trainer-token",
  mountPath: "/var/run/secrets/kubeflow/trainer",
  tokenFile: "token",
  caFile: "ca.crt",
  expirationSeconds: 3600,
} as const;

/** Variables by which a pod finds the status endpoint: the KEP's family and today's SDK's. */
export const STATUS_ENV = {
  kep: {
    url: "KUBEFLOW_TRAINER_STATUS_URL",
    caCert: "KUBEFLOW_TRAINER_STATUS_CA_CERT",
    token: "KUBEFLOW_TRAINER_STATUS_TOKEN",
  },
  sdk: {
    url: "KUBEFLOW_TRAINER_SERVER_URL",
    caCert: "KUBEFLOW_TRAINER_SERVER_CA_CERT",
    token: "KUBEFLOW_TRAINER_SERVER_TOKEN",
  },
} as const;

/** Variable that names a container to itself, for its pushes: the containers of a pod have one token. */
export const CONTAINER_NAME_ENV = "KUBEFLOW_TRAINER_STATUS_CONTAINER";

/** Variables of the containers of a job's pods: which restart it was, if there was one, and the newest checkpoint. */
export const RESUME_ENV = {
  restart: "MILEPOST_RESTART",
  checkpointStep: "MILEPOST_CHECKPOINT_STEP",
  checkpoint: "MILEPOST_CHECKPOINT",
} as const;

/** Every variable of {@link STATUS_ENV}: only the injection may set them. */
export const RESERVED_STATUS_ENV: readonly string[] = [
  ...Object.values(STATUS_ENV.kep),
  ...Object.values(STATUS_ENV.sdk),
];

/** Variables of a trial's trainer begin with this; the name of the parameter follows. */
export const PARAMETER_ENV_PREFIX = "KUBEFLOW_TRAINER_OPT_";

/** Variable that an initializer reads its URI from. */
export const STORAGE_URI_ENV = "STORAGE_URI";

/** Audience of push tokens (KEP-2779). */
export const PUSH_AUDIENCE = TRAINER_GROUP;

/** Names of the manager and its objects in a cluster (docs/decisions/0033). */
export const MANAGER = {
  name: "kubeflow-trainer-controller-manager",
  namespace: "kubeflow-system",
  lease: "milepost",
  forwardAddressAnnotation: "milepost/forward-address",
  /** The DNS name by which a replica's certificate is known when it forwards pushes. */
  replicaCertificateName: "milepost-replica",
  certificateSecret: "kubeflow-trainer-webhook-cert",
  mutatingConfiguration: "milepost-mutating",
  validatingConfiguration: "milepost-validating",
  podWebhook: "pods.trainer.kubeflow.org",
  trialPodWebhook: "trial-pods.trainer.kubeflow.org",
  publicConfigMap: "kubeflow-trainer-public",
  admissionPolicy: "milepost-pod-ownership",
  writesPolicy: "milepost-manager-writes",
} as const;

/** Names that a standalone uses: in a kubeconfig, and of the kind that only its API server has. */
export const STANDALONE = {
  group: `standalone.${TRAINER_GROUP}`,
  version: TRAINER_VERSION,
  /** The name of cluster, user and context. */
  kubeconfigName: "milepost",
  /** Extension of the context with the name of the context that was current before. */
  previousContextExtension: "milepost/previous-context",
} as const;

/** Ports of the manager. */
export const PORTS = {
  webhook: 9443,
  webhookService: 443,
  status: 8082,
  /** Upstream's port of the status endpoint, an alias on the Service. */
  statusAlias: 10443,
  metrics: 8080,
  health: 8081,
  forward: 8443,
  /** Of the page, in its own pods. */
  ui: 8444,
} as const;

/** Name of the status port on the manager's Service, and in its EndpointSlices. */
export const STATUS_PORT_NAME = "status";
/** On an EndpointSlice: its Service. */
export const ENDPOINTS_OF_LABEL = "kubernetes.io/service-name";

/** The page in a cluster: names of its objects, and files that its pods have. */
export const UI = {
  name: "kubeflow-trainer-ui",
  component: "ui",
  /** The token for the manager, and the CAs of the manager's certificate. */
  managerToken: "/var/run/secrets/milepost/manager/token",
  managerCa: ["/var/run/secrets/milepost/ca/ca.crt", "/var/run/secrets/milepost/ca/ca-next.crt"],
  /** The certificate of the page, if a Secret has one. */
  tls: "/tls",
  tlsSecret: "kubeflow-trainer-ui-tls",
} as const;

/** The file of the manager's sinks in a cluster: where it is mounted, from which Secret. */
export const NOTIFICATIONS = {
  component: "notifications",
  secret: "milepost-notifications",
  folder: "/etc/milepost/notifications",
  file: "notifications.yaml",
} as const;

/** Bounds of a push (docs/reference/http.md). */
export const PUSH_LIMITS = {
  bodyBytes: 65_536,
  metrics: 256,
  metricNameLength: 64,
  metricValueLength: 64,
} as const;

/** Bounds of a history: samples that a client kept while the endpoint was down (docs/reference/http.md). */
export const HISTORY_LIMITS = {
  bodyBytes: 1_048_576,
  samples: 1000,
  /** Histories of a pod a second, and at once; they count as pushes too. */
  perPod: { ratePerSecond: 1, burst: 5 },
  /** The same of a service account. */
  perSubject: { ratePerSecond: 20, burst: 100 },
  /** Samples in histories of a pod a second, and at once: each costs up to 15 µs. */
  samplesPerPod: { ratePerSecond: 200, burst: 5_000 },
  /** The same of a service account. */
  samplesPerSubject: { ratePerSecond: 2_000, burst: 20_000 },
  /** The same of all, on one replica. */
  samplesInAll: { ratePerSecond: 10_000, burst: 50_000 },
  /** Bytes that count as one sample at least, whatever they hold. */
  bytesPerSample: 256,
  /** Handed over at a time on one replica; one service account may have as many as are left for others. */
  atOnce: 32,
} as const;

/** Bound of a Kubernetes DNS label, such as a pod's hostname. */
export const DNS_LABEL_MAX = 63;

/** Features that can be switched. */
export const FEATURE_GATES = {
  /** KEP-2779: status endpoint, injection, CA distribution. */
  trainJobProgress: "TrainJobProgress",
} as const;
/** Other spellings of a gate, as upstream has them. */
export const FEATURE_GATE_ALIASES: Readonly<Record<string, string>> = {
  TrainJobStatus: FEATURE_GATES.trainJobProgress,
};
