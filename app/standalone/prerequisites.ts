/** Objects of a standalone before its manager starts: CRDs, RBAC, the Lease, and the ConfigMap that clients look for. */
import { createHash } from "node:crypto";
import { JOBSET_GROUP, MILEPOST_JOBSET_CONTROLLER } from "../../crds/jobset_names.ts";
import {
  COLUMNS,
  crdManifests,
  type CustomResourceDefinition,
  definitionOf,
} from "../../crds/manifests.ts";
import { v1CrdManifests } from "../../crds/v1/manifests.ts";
import { JOB_KINDS, type JobKinds } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import {
  ANNOTATIONS,
  ENDPOINTS_OF_LABEL,
  MANAGER,
  STANDALONE,
  STATUS_PORT_NAME,
} from "../../crds/names.ts";
import { trialCrd } from "../../crds/trial_manifest.ts";
import { trialResourceRules } from "../../katib/trials/trial_resources.ts";
import { asObject } from "../../platform/base/json.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { ignoring, isAlreadyExists } from "../../platform/kube/errors.ts";
import { builtIn } from "../../platform/kube/kubernetes_kinds.ts";
import { type Kind, type KubeObject, withMetadataOnly } from "../../platform/kube/resource.ts";
import { upsert } from "../../platform/kube/upsert.ts";
import {
  boundRole,
  clusterAccess,
  managerRbac,
  publicReading,
  type RbacObject,
} from "../manager/manager_roles.ts";
import { rule } from "../manager/rights.ts";
import { applyMergePatch } from "../../standalone/apiserver/objects/json_patch.ts";
import { VERSION } from "../version.ts";

const SCHEDULER = "system:kube-scheduler";
/** The user that keeps logs of jobs whose pods are gone. */
export const LOG_KEEPER = "system:log-keeper";

/** The scheduler's and the Job controller's further rights, as Kubernetes' own have them. */
const CONTROLLER_RBAC: readonly RbacObject[] = [
  ...boundRole({ name: SCHEDULER }, [
    rule("", ["pods", "nodes"], ["get", "list", "watch"]),
    rule("", ["pods/binding"], ["create"]),
    rule("", ["pods/status"], ["patch"]),
    rule("", ["events"], ["create", "patch"]),
  ], { kind: "User", name: SCHEDULER }),
  ...boundRole({ name: LOG_KEEPER }, [
    rule(STANDALONE.group, [KINDS.keptLog.plural], ["create", "delete", "get", "list", "watch"]),
    ...JOB_KINDS.all.map(({ group, plural }) => rule(group, [plural], ["get"])),
  ], { kind: "User", name: LOG_KEEPER }),
  // Jobs go after their time to live, for which Kubernetes has a controller of its own.
  ...clusterAccess("milepost:job-controller", [rule("batch", ["jobs"], ["delete"])], {
    namespace: "kube-system",
    serviceAccount: "job-controller",
  }),
];

const CRD = KINDS.customResourceDefinition;
/** Its objects are written by the keeper of logs alone, so that it validates nothing. */
const KEPT_LOG_CRD = definitionOf(KINDS.keptLog, {
  schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  columns: [{ name: "Pod", type: "string", jsonPath: ".spec.pod.metadata.name" }, COLUMNS.age],
});

/** There is no other controller of JobSets: those that name none are the built-in executor's. */
const EXECUTED_HERE = {
  properties: { spec: { properties: { managedBy: { default: MILEPOST_JOBSET_CONTROLLER } } } },
};

/** The definition, of JobSets with that default. */
function definedHere(crd: CustomResourceDefinition): CustomResourceDefinition {
  if (crd.spec.group !== JOBSET_GROUP) return crd;
  const versions = crd.spec.versions.map((version) => {
    const defaulted = asObject(applyMergePatch(version.schema.openAPIV3Schema, EXECUTED_HERE));
    return { ...version, schema: { openAPIV3Schema: defaulted } };
  });
  return { ...crd, spec: { ...crd.spec, versions } };
}

const rbacKind = ({ kind, metadata }: RbacObject): Kind<unknown> =>
  builtIn(KINDS.role.group, kind, metadata.namespace !== undefined);

/** The object with a hash of its contents as an annotation. */
function fingerprinted<T extends KubeObject>(object: T): { object: T; hash: string } {
  const hash = createHash("sha256").update(JSON.stringify(object)).digest("hex").slice(0, 16);
  const annotations = { ...object.metadata?.annotations, [ANNOTATIONS.manifestHash]: hash };
  return { object: { ...object, metadata: { ...object.metadata, annotations } }, hash };
}

/**
 * Creates an object, or replaces that of another version of Milepost. With `keepsForeign`, one that Milepost has not
 * written stays as it is.
 */
async function put<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<unknown>,
  manifest: T,
  { keepsForeign = false } = {},
): Promise<void> {
  const { object, hash } = fingerprinted(manifest);
  const { namespace, name = "" } = object.metadata ?? {};
  await upsert(client, withMetadataOnly(kind), { namespace, name }, (stored) => {
    const written = stored?.metadata?.annotations?.[ANNOTATIONS.manifestHash];
    if (stored !== undefined && written === undefined && keepsForeign) return undefined;
    return written === hash ? undefined : object;
  });
}

/** Katib's kind Trial, for a control plane without Katib; Katib's own stays as it is. Can be repeated. */
export function installTrialCrd(client: KubeClient): Promise<void> {
  return put(client, CRD, trialCrd(), { keepsForeign: true });
}

/** Grants the manager what it needs for trial resources, which in a cluster is the administrator's to grant. */
export async function grantTrialResources(client: KubeClient, kinds: JobKinds): Promise<void> {
  const subject = { namespace: MANAGER.namespace, serviceAccount: MANAGER.name };
  const rules = trialResourceRules(kinds.all);
  if (rules.length === 0) return;
  const objects = clusterAccess(`${MANAGER.name}-trial-resources`, rules, subject);
  for (const object of objects) await put(client, rbacKind(object), object);
}

/** Prepares the API server for the manager. Can be repeated. */
export async function installPrerequisites(client: KubeClient): Promise<void> {
  const namespace = MANAGER.namespace;
  const crds = [...crdManifests().map(definedHere), ...v1CrdManifests(), KEPT_LOG_CRD];
  await Promise.all(crds.map((crd) => put(client, CRD, crd, { keepsForeign: true })));
  const unlessThere = ignoring(isAlreadyExists);
  await client.create(KINDS.namespace, { metadata: { name: namespace } }).catch(unlessThere);
  await client.create(KINDS.serviceAccount, { metadata: { name: MANAGER.name, namespace } })
    .catch(unlessThere);
  await client.create(KINDS.lease, { metadata: { name: MANAGER.lease, namespace } })
    .catch(unlessThere);
  const rbac = [
    ...CONTROLLER_RBAC,
    ...managerRbac({ namespace, serviceAccount: MANAGER.name }),
    ...publicReading({ name: MANAGER.publicConfigMap, namespace }),
  ];
  await Promise.all(rbac.map((object) => put(client, rbacKind(object), object)));
  await put(client, KINDS.configMap, {
    metadata: { name: MANAGER.publicConfigMap, namespace },
    data: { kubeflow_trainer_version: "v2.3.0", milepost_version: VERSION },
  });
}

/** Says where the manager's status port is, as a cluster says of a Service: by that it is found from outside. */
export function publishStatusPort(client: KubeClient, host: string, port: number): Promise<void> {
  const { name, namespace } = MANAGER;
  return put(client, KINDS.endpointSlice, {
    metadata: { name, namespace, labels: { [ENDPOINTS_OF_LABEL]: name } },
    addressType: "IPv4",
    endpoints: [{ addresses: [host], conditions: { ready: true } }],
    ports: [{ name: STATUS_PORT_NAME, port, protocol: "TCP" }],
  });
}
