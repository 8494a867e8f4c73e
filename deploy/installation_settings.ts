/** Settings of an installation, with the defaults of the shipped manifests. */
import { MANAGER, NOTIFICATIONS, UI } from "../crds/names.ts";
import { VERSION } from "../app/version.ts";

/**
 * The choices of an installation. Values are put into objects as they are, so that a chart can give
 * placeholders where a cluster gives names.
 */
export interface Settings {
  /** Of Deployment, Service, ServiceAccount and the roles. */
  readonly name: string;
  readonly namespace: string;
  /** Of the container, with its tag. */
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly replicas: number | string;
  /** Value of `--jobset`. */
  readonly jobset: string;
  /** Value of `--feature-gates`. */
  readonly featureGates: string;
  /** Value of `--log-level`. */
  readonly logLevel: string;
  /** Of the manager's container. */
  readonly resources: unknown;
  /** Ports of API servers, for the NetworkPolicy. */
  readonly apiServerPorts: unknown;
  /** Users besides the manager that the admission policy trusts, by what they run. */
  readonly jobControllers: unknown;
  readonly jobSetControllers: unknown;
  /** Those that run kinds of `kubeflow.org` which Milepost does not run. */
  readonly v1JobControllers: unknown;
  /** Those that make the jobs of Trials. */
  readonly trialControllers: unknown;
  /** Value of `--trial-resource`; without one the flag is absent. */
  readonly trialResource: string;
  /** The same as a list, and those that run these kinds, unless they make Jobs or JobSets of them. */
  readonly trialResources: unknown;
  readonly trialResourceControllers: unknown;
  /** The flag `--read-with-api-tokens`, or nothing. */
  readonly readWithApiTokens: string;
  /** The flag by which OptimizationJobs are another controller's, or nothing. */
  readonly optimizationJobs: string;
  /** The flag `--notifications` with its file, or nothing; and the Secret that has the file. */
  readonly notifications: string;
  readonly notificationsSecretName: string;
  /** The page: name of its objects, replicas, more hosts by commas, Secret of its certificate, resources. */
  readonly uiName: string;
  readonly uiReplicas: number | string;
  readonly uiHosts: string;
  readonly uiTlsSecretName: string;
  readonly uiResources: unknown;
}

/** The version of upstream's Trainer that the SDK reads: the one whose API and behaviour this is. */
export const TRAINER_COMPATIBILITY = "v2.3.0";

/**
 * Repository of the image that a clone's manifests name. No registry has that name: nobody can publish an
 * image that a cluster would pull for it. A release puts its own there (`deno task manifests --image`).
 */
const LOCAL_IMAGE = "localhost/milepost";

/** Returns the image of this version in a repository, by its digest too if that is known: then no tag can change it. */
export function imageIn(repository: string, digest?: string): string {
  return `${repository}:${VERSION}${digest === undefined ? "" : `@${digest}`}`;
}

/** Default settings of `kubectl apply -k` and `helm install`. */
export const DEFAULTS = {
  name: MANAGER.name,
  namespace: MANAGER.namespace,
  image: imageIn(LOCAL_IMAGE),
  imagePullPolicy: "IfNotPresent",
  replicas: 2,
  // Upstream's JobSet executes them; the component jobset-executor changes that.
  jobset: "external",
  featureGates: "TrainJobProgress=true",
  logLevel: "info",
  resources: {
    requests: { cpu: "100m", memory: "192Mi" },
    limits: { memory: "512Mi" },
  },
  apiServerPorts: [443, 6443, 8443],
  /** kube-controller-manager with and without an account for each controller. */
  jobControllers: [
    "system:serviceaccount:kube-system:job-controller",
    "system:kube-controller-manager",
  ],
  jobSetControllers: ["system:serviceaccount:jobset-system:jobset-controller-manager"],
  /** The Training Operator and the MPI Operator, as their manifests name them. */
  v1JobControllers: [
    "system:serviceaccount:kubeflow:training-operator",
    "system:serviceaccount:mpi-operator:mpi-operator",
  ],
  /** Katib, as its manifests name it. */
  trialControllers: ["system:serviceaccount:kubeflow:katib-controller"],
  trialResource: "",
  trialResources: [],
  trialResourceControllers: [],
  // The component of the page sets it.
  readWithApiTokens: "",
  // These components set them.
  optimizationJobs: "",
  notifications: "",
  notificationsSecretName: NOTIFICATIONS.secret,
  uiName: UI.name,
  uiReplicas: 1,
  uiHosts: "",
  uiTlsSecretName: UI.tlsSecret,
  uiResources: {
    requests: { cpu: "50m", memory: "128Mi" },
    limits: { memory: "512Mi" },
  },
} as const satisfies Settings;

/** An object as the API server takes it. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  [field: string]: unknown;
}

/** Labels by which the Service and the others find the manager's pods. */
export const SELECTOR: Readonly<Record<string, string>> = {
  "app.kubernetes.io/name": "milepost",
  "app.kubernetes.io/component": "manager",
};

/** Labels of every object of an installation. */
export const COMMON_LABELS: Readonly<Record<string, string>> = {
  ...SELECTOR,
  "app.kubernetes.io/part-of": "milepost",
};

/** `name: …` with the labels of every object. */
export function labelled(name: string, namespace?: string): Manifest["metadata"] {
  return { name, ...(namespace === undefined ? {} : { namespace }), labels: { ...COMMON_LABELS } };
}
