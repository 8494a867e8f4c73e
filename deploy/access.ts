/** Who may do what: the manager (exactly `app/manager/cluster_role.ts`), users of TrainJobs, and the SDK. */
import { managerRbac } from "../app/manager/cluster_role.ts";
import type { Policies } from "../controller/runtime/policy.ts";
import { VERSION } from "../app/version.ts";
import { JOBSET_GROUP, MANAGER, TRAINER_GROUP } from "../crds/names.ts";
import { labelled, type Manifest, type Settings, TRAINER_COMPATIBILITY } from "./settings.ts";

const RBAC = "rbac.authorization.k8s.io";
const RBAC_VERSION = `${RBAC}/v1`;

/** The manager's roles, under the names of this installation. */
export function managerRoles({ name, namespace }: Settings, policies?: Policies): Manifest[] {
  return managerRbac({ name, namespace, serviceAccount: name }, policies).map((object) => ({
    ...object,
    metadata: labelled(object.metadata.name, object.metadata.namespace),
  }));
}

/** Rights that whoever may edit or view a namespace gets over its TrainJobs. */
export function userRoles({ name }: Settings): Manifest[] {
  const role = (suffix: string, aggregateTo: string[], rules: unknown[]): Manifest => {
    const metadata = labelled(`${name}-${suffix}`);
    const aggregate = aggregateTo.map((it) => [`${RBAC}/aggregate-to-${it}`, "true"]);
    return {
      apiVersion: RBAC_VERSION,
      kind: "ClusterRole",
      metadata: { ...metadata, labels: { ...metadata.labels, ...Object.fromEntries(aggregate) } },
      rules,
    };
  };
  const READ = ["get", "list", "watch"];
  const WRITE = ["create", "update", "patch", "delete", "deletecollection"];
  return [
    role("edit", ["admin", "edit"], [
      {
        apiGroups: [TRAINER_GROUP],
        resources: ["trainjobs", "trainingruntimes"],
        verbs: [...READ, ...WRITE],
      },
    ]),
    role("view", ["view"], [
      {
        apiGroups: [TRAINER_GROUP],
        resources: ["trainjobs", "trainjobs/status", "trainingruntimes", "clustertrainingruntimes"],
        verbs: READ,
      },
      { apiGroups: [JOBSET_GROUP], resources: ["jobsets", "jobsets/status"], verbs: READ },
    ]),
  ];
}

/** The ConfigMap by which the SDK knows what it talks to, readable for whoever is logged in. */
export function publicConfiguration({ namespace }: Settings): Manifest[] {
  const name = MANAGER.publicConfigMap;
  const metadata = labelled(name, namespace);
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata,
      data: { kubeflow_trainer_version: TRAINER_COMPATIBILITY, milepost_version: VERSION },
    },
    {
      apiVersion: RBAC_VERSION,
      kind: "Role",
      metadata,
      rules: [{
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: [name],
        verbs: ["get"],
      }],
    },
    {
      apiVersion: RBAC_VERSION,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "Role", name },
      subjects: [{ apiGroup: RBAC, kind: "Group", name: "system:authenticated" }],
    },
  ];
}
