/** Current view of all objects that a comparison reads, with the time of each namespace's last change. */
import type { KubeClient } from "../../../platform/kube/client.ts";
import { createInformer, type Informer } from "../../../platform/kube/watching/informer.ts";
import { V1_GROUP, V1_VERSION } from "../../../crds/v1/names.ts";
import { until } from "../../support/until.ts";
import { z } from "zod";

/** An object as the server sent it; nothing is read but what is asked for. */
const anySchema = z.looseObject({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    uid: z.string().optional(),
    resourceVersion: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.record(z.string(), z.unknown()).optional(),
  status: z.record(z.string(), z.unknown()).optional(),
});

/** Any object of the cluster. */
export type AnyObject = z.infer<typeof anySchema>;

function watched(group: string, version: string, kind: string, plural: string) {
  const parse = (value: unknown) => anySchema.parse(value);
  return { group, version, kind, plural, namespaced: true, parse };
}

const WATCHED = {
  trainJobs: watched("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs"),
  jobSets: watched("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
  jobs: watched("batch", "v1", "Job", "jobs"),
  pods: watched("", "v1", "Pod", "pods"),
  services: watched("", "v1", "Service", "services"),
  configMaps: watched("", "v1", "ConfigMap", "configmaps"),
  persistentVolumeClaims: watched(
    "",
    "v1",
    "PersistentVolumeClaim",
    "persistentvolumeclaims",
  ),
  secrets: watched("", "v1", "Secret", "secrets"),
  events: watched("", "v1", "Event", "events"),
  serviceAccounts: watched("", "v1", "ServiceAccount", "serviceaccounts"),
  coschedulingGroups: watched("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups"),
  volcanoGroups: watched("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups"),
  roles: watched("rbac.authorization.k8s.io", "v1", "Role", "roles"),
  roleBindings: watched("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
  autoscalers: watched(
    "autoscaling",
    "v2",
    "HorizontalPodAutoscaler",
    "horizontalpodautoscalers",
  ),
  tfjobs: watched(V1_GROUP, V1_VERSION, "TFJob", "tfjobs"),
  pytorchjobs: watched(V1_GROUP, V1_VERSION, "PyTorchJob", "pytorchjobs"),
  xgboostjobs: watched(V1_GROUP, V1_VERSION, "XGBoostJob", "xgboostjobs"),
  mxjobs: watched(V1_GROUP, V1_VERSION, "MXJob", "mxjobs"),
  mpijobs: watched(V1_GROUP, V1_VERSION, "MPIJob", "mpijobs"),
  paddlejobs: watched(V1_GROUP, V1_VERSION, "PaddleJob", "paddlejobs"),
  jaxjobs: watched(V1_GROUP, V1_VERSION, "JAXJob", "jaxjobs"),
} as const;

/** The v1 kinds of jobs by their plurals. */
export const V1_JOBS = [
  "tfjobs",
  "pytorchjobs",
  "xgboostjobs",
  "mxjobs",
  "mpijobs",
  "paddlejobs",
  "jaxjobs",
] as const;

/** Kinds of objects in the view. */
export type WatchedKind = keyof typeof WATCHED;

/** The objects of one namespace. */
export interface NamespaceView {
  list(kind: WatchedKind): AnyObject[];
  get(kind: WatchedKind, name: string): AnyObject | undefined;
}

/** The cluster, watched. */
export interface ClusterView {
  readonly client: KubeClient;
  of(namespace: string): NamespaceView;
  /** Resolves when nothing in the namespace has changed for that long, in milliseconds, or after 10 s. */
  quiet(namespace: string, ms: number): Promise<void>;
}

/** Watches until `signal` aborts. Resolves when all existing objects are known. */
export async function watchCluster(
  client: KubeClient,
  kinds: readonly WatchedKind[],
  signal: AbortSignal,
): Promise<ClusterView & { readonly ended: Promise<unknown> }> {
  const informers = new Map<WatchedKind, Informer<AnyObject>>();
  const moved = new Map<string, number>();
  for (const name of kinds) {
    const informer = createInformer({ client, kind: WATCHED[name] });
    informer.onChange(({ object }) =>
      moved.set(object.metadata.namespace ?? "", performance.now())
    );
    informers.set(name, informer);
  }
  const ended = Promise.all([...informers.values()].map((informer) => informer.run(signal)));
  await Promise.all([...informers.values()].map((informer) => informer.whenSynced(signal)));
  return {
    client,
    ended,
    of: (namespace) => ({
      list: (kind) => informers.get(kind)?.list(namespace) ?? [],
      get: (kind, name) => informers.get(kind)?.get({ namespace, name }),
    }),
    quiet: async (namespace, ms) => {
      const from = performance.now();
      const quietSince = () => Math.max(from, moved.get(namespace) ?? 0);
      await until(`${namespace} to be quiet`, () => performance.now() - quietSince() > ms, {
        timeoutMs: 10_000,
        everyMs: 50,
      }).catch(() => undefined); // What is tried again and again is never quiet.
    },
  };
}
