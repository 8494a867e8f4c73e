/** Roles of an installation: the manager's (`app/manager/cluster_role.ts`), users' and the SDK's. */
import { managerRbac, type RbacTables } from "../app/manager/cluster_role.ts";
import type { JobKinds } from "../crds/job_kinds.ts";
import { VERSION } from "../app/version.ts";
import { MANAGER, TRAINER_GROUP } from "../crds/names.ts";
import { JOBSET_GROUP } from "../crds/jobset_names.ts";
import {
  labelled,
  type Manifest,
  type Settings,
  TRAINER_COMPATIBILITY,
} from "./installation_settings.ts";

const RBAC = "rbac.authorization.k8s.io";
const RBAC_VERSION = `${RBAC}/v1`;

/** The manager's roles, under the names of this installation. */
export function managerRoles({ name, namespace }: Settings, tables?: RbacTables): Manifest[] {
  return managerRbac({ name, namespace, serviceAccount: name }, tables).map((object) => ({
    ...object,
    metadata: labelled(object.metadata.name, object.metadata.namespace),
  }));
}

/** Rights over jobs for users that may edit or view a namespace. */
export function userRoles({ name }: Settings, { all }: JobKinds): Manifest[] {
  const groups = [...Map.groupBy(all, ({ group }) => group)].map(([group, kinds]) => ({
    group,
    jobs: kinds.map(({ plural }) => plural),
    runtimes: group === TRAINER_GROUP ? ["trainingruntimes"] : [],
    clusterRuntimes: group === TRAINER_GROUP ? ["clustertrainingruntimes"] : [],
  }));
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
    role(
      "edit",
      ["admin", "edit"],
      groups.map(({ group, jobs, runtimes }) => ({
        apiGroups: [group],
        resources: [...jobs, ...runtimes],
        verbs: [...READ, ...WRITE],
      })),
    ),
    role("view", ["view"], [
      ...groups.map(({ group, jobs, runtimes, clusterRuntimes }) => ({
        apiGroups: [group],
        resources: [
          ...jobs.flatMap((job) => [job, `${job}/status`]),
          ...runtimes,
          ...clusterRuntimes,
        ],
        verbs: READ,
      })),
      { apiGroups: [JOBSET_GROUP], resources: ["jobsets", "jobsets/status"], verbs: READ },
    ]),
  ];
}

/** The ConfigMap from which the SDK reads the version, readable for all authenticated users. */
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
