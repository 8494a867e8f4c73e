/** Type of any object of a cluster, as YAML has it. */

/** An object that is sent to an API server as it stands; its fields are the server's to judge. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** The plurals of the kinds that the comparisons touch. */
const PLURALS: Readonly<Record<string, string>> = {
  TrainJob: "trainjobs",
  TrainingRuntime: "trainingruntimes",
  ClusterTrainingRuntime: "clustertrainingruntimes",
  OptimizationJob: "optimizationjobs",
  TFJob: "tfjobs",
  PyTorchJob: "pytorchjobs",
  XGBoostJob: "xgboostjobs",
  MXJob: "mxjobs",
  MPIJob: "mpijobs",
  PaddleJob: "paddlejobs",
  JAXJob: "jaxjobs",
  JobSet: "jobsets",
  Job: "jobs",
  Pod: "pods",
  Service: "services",
  ConfigMap: "configmaps",
  Secret: "secrets",
  PodGroup: "podgroups",
  PriorityClass: "priorityclasses",
  PersistentVolumeClaim: "persistentvolumeclaims",
  Namespace: "namespaces",
  LimitRange: "limitranges",
  CustomResourceDefinition: "customresourcedefinitions",
  MutatingWebhookConfiguration: "mutatingwebhookconfigurations",
  ValidatingWebhookConfiguration: "validatingwebhookconfigurations",
};

/** The path of the objects of a kind, in a namespace or in the cluster. Throws for an unknown kind. */
export function collectionPath(
  object: Pick<Manifest, "apiVersion" | "kind">,
  namespace: string | undefined,
): string {
  const plural = PLURALS[object.kind];
  if (plural === undefined) throw new Error(`no plural is known for ${object.kind}`);
  const group = object.apiVersion.includes("/") ? `apis/${object.apiVersion}` : "api/v1";
  const scope = namespace === undefined ? "" : `/namespaces/${namespace}`;
  return `/${group}${scope}/${plural}`;
}
