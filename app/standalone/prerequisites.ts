/** Objects of a standalone before its manager starts: CRDs, RBAC, the Lease, and the ConfigMap that clients look for. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { crdManifests, type CustomResourceDefinition } from "../../crds/manifests.ts";
import { v1CrdManifests } from "../../crds/v1/manifests.ts";
import { KINDS } from "../../crds/kinds.ts";
import { ANNOTATIONS, MANAGER } from "../../crds/names.ts";
import { trialCrd } from "../../crds/trial_manifest.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isAlreadyExists } from "../../kube/errors.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";
import { getOrUndefined, upsert } from "../../kube/upsert.ts";
import { managerRbac, type RbacObject } from "../manager/manager_roles.ts";
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

/** An object that is compared and replaced as a whole. */
const wholeSchema = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    resourceVersion: z.string().optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
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

/** The object with a hash of its contents as an annotation. */
function fingerprinted<T extends KubeObject>(object: T): { object: T; hash: string } {
  const hash = createHash("sha256").update(JSON.stringify(object)).digest("hex").slice(0, 16);
  const annotations = { ...object.metadata?.annotations, [ANNOTATIONS.manifestHash]: hash };
  return { object: { ...object, metadata: { ...object.metadata, annotations } }, hash };
}

/** Creates an object, or replaces that of another version of Milepost. */
async function put<T extends KubeObject>(
  client: KubeClient,
  kind: ResourceKind<T>,
  manifest: T,
): Promise<void> {
  const { object, hash } = fingerprinted(manifest);
  const { namespace, name = "" } = object.metadata ?? {};
  await upsert(client, kind, { namespace, name }, (stored) => {
    return stored?.metadata?.annotations?.[ANNOTATIONS.manifestHash] === hash ? undefined : object;
  });
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

/** Whether a foreign CRD has that name; it is never overwritten. */
async function isForeign(client: KubeClient, name: string): Promise<boolean> {
  const found = await getOrUndefined(client, CRD, { name });
  return found !== undefined &&
    found.metadata.annotations?.[ANNOTATIONS.manifestHash] === undefined;
}

async function putCrd(
  client: KubeClient,
  crd: CustomResourceDefinition | ReturnType<typeof trialCrd>,
): Promise<void> {
  if (await isForeign(client, crd.metadata.name)) return;
  await put(client, CRD, wholeSchema.parse(JSON.parse(JSON.stringify(crd))));
}

/** Katib's kind Trial, for a control plane without Katib; Katib's own stays as it is. Can be repeated. */
export function installTrialCrd(client: KubeClient): Promise<void> {
  return putCrd(client, trialCrd());
}

/** Prepares the API server for the manager. Can be repeated. */
export async function installPrerequisites(client: KubeClient): Promise<void> {
  const namespace = MANAGER.namespace;
  const crds = [...crdManifests(), ...v1CrdManifests()];
  await Promise.all(crds.map((crd) => putCrd(client, crd)));
  await createOnce(client, KINDS.namespace, { metadata: { name: namespace } });
  await createOnce(client, KINDS.serviceAccount, { metadata: { name: MANAGER.name, namespace } });
  await createOnce(client, KINDS.lease, { metadata: { name: MANAGER.lease, namespace } });
  const rbac = [...CONTROLLER_RBAC, ...managerRbac({ namespace, serviceAccount: MANAGER.name })];
  await Promise.all(rbac.map((object) => put(client, rbacKind(object), { ...object })));
  await put(client, KINDS.configMap, {
    metadata: { name: MANAGER.publicConfigMap, namespace },
    data: { kubeflow_trainer_version: "v2.3.0", milepost_version: VERSION },
  });
}
