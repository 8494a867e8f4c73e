/** The table of the manager's settings: flags, variables, keys of the `--config` file, and bounds. */
import { z } from "zod";
import { DEFAULT_V1_SETTINGS } from "../../controller/jobs/v1_settings.ts";
import {
  ANNOTATIONS,
  FEATURE_GATE_ALIASES,
  FEATURE_GATES,
  MANAGER,
  PORTS,
} from "../../crds/names.ts";
import { V1_KIND_LIST } from "../../crds/v1/kinds.ts";
import { V1_RUN_BY, V1_RUN_BY_ANNOTATION } from "../../crds/v1/names.ts";
import { ADMISSION_SERVER_LIMITS } from "../../webhook/admission_http.ts";
import { DEFAULT_SERVER_LIMITS } from "../../platform/http/limits/server_limits.ts";
import {
  adoptCollectors,
  historySettings,
  katibDbManager,
  observationSink,
  trialResources,
} from "./observation_settings.ts";
import {
  addresses,
  baseUrl,
  boolean,
  count,
  domain,
  duration,
  image,
  logLevel,
  names,
  optionalSize,
  path,
  port,
  rate,
  size,
  stallPolicy,
} from "./setting_schemas.ts";

const STATUS = DEFAULT_SERVER_LIMITS.connections;
const WEBHOOK = ADMISSION_SERVER_LIMITS.connections;
const ADDRESS_OF_SERVICE = "the address of the Service";
const GATES = Object.values(FEATURE_GATES).map((gate) => {
  const aliases = Object.keys(FEATURE_GATE_ALIASES).filter((it) =>
    FEATURE_GATE_ALIASES[it] === gate
  );
  return `${gate} (alias ${aliases.join(", ")})`;
}).join(", ");

/** Every setting of the manager, by its camelCase name. The descriptions are what `--help` shows. */
export const settings = z.strictObject({
  kubeconfig: path("file", "the cluster that this pod runs in")
    .describe("kubeconfig of the API server"),
  namespace: z.string().min(1).default(MANAGER.namespace)
    .describe(
      "the manager's own namespace, for its certificates and its Lease; in a pod, the pod's own namespace is the default",
    ),
  serviceName: z.string().min(1).default(MANAGER.name)
    .describe("the Service in front of the manager"),
  webhookPort: port(PORTS.webhook).describe("port of the admission webhook; 0 takes any free port"),
  statusPort: port(PORTS.status).describe("port of the status endpoint"),
  metricsPort: port(PORTS.metrics).describe("port of /metrics, plain HTTP"),
  healthPort: port(PORTS.health).describe("port of /healthz and /readyz, plain HTTP"),
  forwardPort: port(PORTS.forward).describe("port for calls between replicas"),
  bindAddress: z.string().default("0.0.0.0").describe("address to listen on"),
  webhookBaseUrl: baseUrl
    .describe("https://host:port at which the API server reaches the webhook")
    .meta({ otherwise: ADDRESS_OF_SERVICE }),
  statusBaseUrl: baseUrl
    .describe("https://host:port at which pods reach the status endpoint")
    .meta({ otherwise: ADDRESS_OF_SERVICE }),
  apiServerAddresses: addresses.describe(
    "addresses or networks, separated by commas, from which API servers call the webhook: " +
      "they have places there that others cannot take",
  ),
  featureGates: z.string().default("")
    .describe(`features to switch, such as A=true,B=false: ${GATES}; on in the shipped manifests`)
    .meta({ otherwise: "all off" }),
  jobset: z.enum(["auto", "builtin", "external"], {
    error: "must be auto, builtin or external",
  }).default("auto").describe(
    "who executes JobSets: auto, builtin or external; auto: upstream's controller if its webhook " +
      "configuration exists, else the built-in one; external: the built-in one does not run",
  ),
  v1Jobs: names(V1_KIND_LIST.map(({ kind }) => kind)).describe(
    "kinds of the Training Operator to run, such as PyTorchJob,TFJob, besides those whose CRD carries the " +
      `annotation ${V1_RUN_BY_ANNOTATION}: ${V1_RUN_BY}. No other operator may run them`,
  ).meta({ value: "kinds", otherwise: "none" }),
  trialResource: trialResources.describe(
    "kinds of other operators, as Kind.version.group such as Job.v1.batch, whose objects are the jobs of Katib's " +
      "Trials: their pods push, and their Trials stop early; repeated, or separated by commas",
  ).meta({ value: "resources", otherwise: "none" }),
  optimizationJobs: boolean(true).describe(
    "whether to run OptimizationJobs; false where another controller runs them: then nothing is made or written for them " +
      "here, and none is refused",
  ),
  maxPodsPerJob: count(DEFAULT_V1_SETTINGS.maxPodsPerJob).describe(
    "pods that one job may ask for; of a larger one nothing is made, and what it has goes on",
  ),
  failureMessages: boolean(true).describe(
    "whether jobs and their events have what a program said last when it failed, for all who may read the job; a job's " +
      `annotation ${ANNOTATIONS.failureMessage}: "off" keeps it out of that job`,
  ),
  gangSchedulerName: z.string().default("").describe(
    "scheduler that places the pods of each job of the Training Operator's kinds together: volcano, or one with the " +
      "coscheduling plugin",
  ).meta({ otherwise: "pods are scheduled one by one" }),
  pytorchInitContainerImage: image(DEFAULT_V1_SETTINGS.pytorchInitContainerImage)
    .describe("image in which the workers of a PyTorchJob wait for the name of their master"),
  pytorchInitContainerMaxTries: count(DEFAULT_V1_SETTINGS.pytorchInitContainerMaxTries)
    .describe("times that they look for it, every two seconds"),
  mpiKubectlDeliveryImage: image(DEFAULT_V1_SETTINGS.mpiKubectlDeliveryImage)
    .describe("image that brings kubectl to the launcher of an MPIJob"),
  customClusterDomain: domain.describe(
    "domain behind the names of Services in a TFJob's TF_CONFIG, such as cluster.local",
  ).meta({ otherwise: "none" }),
  notifications: path("file", "nobody is told").describe(
    "sinks outside the cluster that are told when jobs end, stall or go on, as YAML (docs/guides/notifications.md)",
  ),
  stallPolicy: stallPolicy('{"action": "Notify"}').describe(
    "what becomes of stalled jobs that do not say it, nor their runtime, by the annotation " +
      `${ANNOTATIONS.stallPolicy} (docs/guides/stalls.md), as JSON`,
  ),
  leaderElect: boolean(true)
    .describe("whether to elect a leader; false only for a single replica, which always leads"),
  leaseDuration: duration("15s").describe(
    "time without a renewal after which another replica may lead",
  ),
  renewDeadline: duration("10s")
    .describe("how long a leader may fail to renew its Lease before it stops leading"),
  retryPeriod: duration("2s").describe("time between two tries to take or renew the Lease"),
  statusWriteInterval: duration("1s").describe("least time between two writes of a job's progress"),
  statusWritesQps: rate(50).describe("writes of progress a second, of all jobs together"),
  pushQpsPerPod: rate(20).describe("pushes and reads a second of one pod"),
  pushBurstPerPod: rate(100).describe("pushes and reads of one pod at once"),
  pushQpsPerSubject: rate(2000).describe("pushes and reads a second of one service account"),
  pushBurstPerSubject: rate(5000).describe("pushes and reads of one service account at once"),
  authentication: z.enum(["local+review", "review", "local"], {
    error: "must be local+review, review or local",
  }).default("local+review").describe(
    "who judges tokens: the API server's keys here and one TokenReview for each token " +
      "(local+review), only TokenReview (review), or only the keys (local)",
  ),
  tokenReviewQps: rate(50).describe(
    "TokenReviews a second for pushes; a fifth is reserved for pushes that wait for the review. " +
      "Readers of observations have the same budget again, and as many SubjectAccessReviews",
  ),
  readWithApiTokens: boolean(false).describe(
    "whether reads, and requests to stop a job, are also taken with tokens for the API server itself, as viewers of the " +
      "page have them; the page's manifests set it",
  ),
  maxStreams: count(1000).describe("streams of events that a replica keeps open; 0 allows none"),
  maxStreamsPerSubject: count(20).describe(
    "streams of events that a replica keeps open for one user",
  ),
  memoryLimit: optionalSize("the least of its control group's and the machine's memory").describe(
    "memory that the process may take; the following caps are lowered to fit it",
  ),
  curveMemory: size("64Mi").describe(
    "memory for the curves of jobs that are kept to be shown; those of ended jobs give way first",
  ),
  maxConnections: count(STATUS.total).describe("connections of the status port, at most"),
  maxConnectionsPerPeer: count(STATUS.perPeer).describe(
    "connections of one address to the status port, at most",
  ),
  maxSilentConnections: count(STATUS.silent).describe(
    "connections of a port that have not sent a whole header yet, at most",
  ),
  maxWebhookConnections: count(WEBHOOK.total).describe("connections of the webhook port, at most"),
  maxWebhookConnectionsPerPeer: count(WEBHOOK.perPeer).describe(
    "connections of one address to the webhook port, at most",
  ),
  maxBodyBytes: size("64Mi").describe(
    "bytes of bodies that the status and the webhook port hold together, at most",
  ),
  observationSink: observationSink.describe(
    "where observation logs are kept: katib, memory, sqlite:PATH or grpc:HOST:PORT",
  ).meta({ otherwise: "katib if the CRD of Katib's Trials exists, else memory" }),
  ...historySettings,
  katibDbManager: katibDbManager.describe(
    "host:port of Katib's DB manager",
  ).meta({
    otherwise: "from $KATIB_DB_MANAGER_SERVICE_IP and _PORT, " +
      "else katib-db-manager.$KATIB_CORE_NAMESPACE:6789",
  }),
  adoptCollectors: adoptCollectors.describe(
    "StdOut, File: trials with these collectors are recorded from pushes, too",
  ).meta({ otherwise: "none" }),
  logFormat: z.enum(["json", "text"], { error: "must be json or text" }).optional()
    .describe("json or text").meta({ otherwise: "text on a terminal, else json" }),
  logLevel: logLevel("info"),
});

/** The names of all settings: a flag `--webhook-port` is the setting `webhookPort`. */
export const SETTINGS: readonly string[] = Object.keys(settings.shape);
