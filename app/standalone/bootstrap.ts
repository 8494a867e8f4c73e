/** What a standalone's API server holds before the manager starts: kinds, rights, names to be found by. */
import { z } from "zod";
import { crdManifests } from "../../crds/manifests.ts";
import { KINDS } from "../../crds/kinds.ts";
import { MANAGER } from "../../crds/names.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isAlreadyExists, isNotFound } from "../../kube/errors.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";
import { managerRbac, type RbacObject } from "../cluster_role.ts";
import { VERSION } from "../version.ts";

/** The scheduler's and the Job controller's further rights, as Kubernetes' own have them. */
const CONTROLLER_RBAC: readonly RbacObject[] = [
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "system:kube-scheduler" },
    rules: [
      { apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] },
      { apiGroups: [""], resources: ["pods/binding"], verbs: ["create"] },
      { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
    ],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "system:kube-scheduler" },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "system:kube-scheduler",
    },
    subjects: [{ kind: "User", name: "system:kube-scheduler" }],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "milepost:job-controller-ttl" },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "system:controller:ttl-after-finished-controller",
    },
    subjects: [{ kind: "ServiceAccount", name: "job-controller", namespace: "kube-system" }],
  },
];

/** What is read of an object that is compared and replaced as a whole. */
const wholeSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string(), resourceVersion: z.string().optional() }),
});
type Whole = z.infer<typeof wholeSchema>;

function wholeKind(
  group: string,
  version: string,
  kind: string,
  plural: string,
  namespaced: boolean,
): ResourceKind<Whole> {
  return {
    group,
    version,
    kind,
    plural,
    namespaced,
    parse: (value) => wholeSchema.parse(value),
  };
}

const CRD = wholeKind(
  "apiextensions.k8s.io",
  "v1",
  "CustomResourceDefinition",
  "customresourcedefinitions",
  false,
);

function rbacKind({ kind }: RbacObject): ResourceKind<Whole> {
  const namespaced = kind === "Role" || kind === "RoleBinding";
  return wholeKind("rbac.authorization.k8s.io", "v1", kind, `${kind.toLowerCase()}s`, namespaced);
}

/** Creates an object, or replaces the one that an older version of Milepost has left. */
async function put<T extends KubeObject>(
  client: KubeClient,
  kind: ResourceKind<T>,
  object: T,
): Promise<void> {
  const { namespace, name = "" } = object.metadata ?? {};
  try {
    await client.create(kind, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const found = await client.get(kind, { namespace, name });
    const resourceVersion = found.metadata?.resourceVersion;
    await client.replace(kind, {
      ...object,
      metadata: { ...object.metadata, resourceVersion },
    });
  }
}

/** Creates an object unless there is one of its name. */
async function createOnce<T extends KubeObject>(
  client: KubeClient,
  kind: ResourceKind<T>,
  object: T,
): Promise<void> {
  try {
    await client.create(kind, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Whether another JobSet controller's CRD is there, which is never overwritten (decision 2). */
async function hasForeignCrd(client: KubeClient, name: string): Promise<boolean> {
  try {
    const found = await client.get(CRD, { name });
    return found.metadata.name === name;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Brings the API server to where the manager can start. Can be repeated. */
export async function bootstrap(client: KubeClient): Promise<void> {
  const namespace = MANAGER.namespace;
  for (const crd of crdManifests()) {
    const whole = wholeSchema.parse(JSON.parse(JSON.stringify(crd)));
    const isJobSet = crd.spec.names.kind === KINDS.jobSet.kind;
    if (isJobSet && await hasForeignCrd(client, crd.metadata.name)) continue;
    await put(client, CRD, whole);
  }
  await createOnce(client, KINDS.namespace, { metadata: { name: namespace } });
  await createOnce(client, KINDS.serviceAccount, { metadata: { name: MANAGER.name, namespace } });
  for (const object of [...CONTROLLER_RBAC, ...managerRbac(namespace, MANAGER.name)]) {
    await put(client, rbacKind(object), { ...object });
  }
  await put(client, KINDS.configMap, {
    metadata: { name: MANAGER.publicConfigMap, namespace },
    data: { kubeflow_trainer_version: "v2.3.0", milepost_version: VERSION },
  });
}
