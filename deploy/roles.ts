/** Roles of an installation: the manager's (`app/manager/rights.ts`), users' and the SDK's. */
import {
  namespaceRbac,
  partRbac,
  policyRbac,
  publicReading,
  type RbacObject,
  type RbacTables,
} from "../app/manager/manager_roles.ts";
import { MANAGER_PARTS, type ManagerPart } from "../app/manager/rights.ts";
import type { JobKinds } from "../crds/job_kinds.ts";
import { VERSION } from "../app/version.ts";
import { KINDS } from "../crds/kinds.ts";
import { MANAGER, TRAINER_GROUP } from "../crds/names.ts";
import { JOBSET_GROUP } from "../crds/jobset_names.ts";
import { V1_KIND_LIST } from "../crds/v1/kinds.ts";
import { V1_GROUP, V1_JOBS_PART } from "../crds/v1/names.ts";
import {
  labelled,
  type Manifest,
  type Settings,
  TRAINER_COMPATIBILITY,
} from "./installation_settings.ts";

const RBAC = "rbac.authorization.k8s.io";
const RBAC_VERSION = `${RBAC}/v1`;

const subjectOf = ({ name, namespace }: Settings) => ({ name, namespace, serviceAccount: name });

const manifestOf = (object: RbacObject): Manifest => ({
  ...object,
  metadata: labelled(object.metadata.name, object.metadata.namespace),
});

/** The roles that every manager needs, under the names of this installation. */
export function managerRoles(settings: Settings, tables?: RbacTables): Manifest[] {
  const subject = subjectOf(settings);
  return [
    ...partRbac("controller", subject, tables),
    ...namespaceRbac(MANAGER_PARTS, subject),
    ...policyRbac(subject, tables),
  ].map(manifestOf);
}

/** The role of a part that can be left out. */
export function partRoles(part: ManagerPart, settings: Settings, tables?: RbacTables): Manifest[] {
  return partRbac(part, subjectOf(settings), tables).map(manifestOf);
}

const READ = ["get", "list", "watch"];
const WRITE = ["create", "update", "patch", "delete", "deletecollection"];

/** A ClusterRole whose rights a cluster's own roles get. */
function aggregatedRole(name: string, aggregateTo: readonly string[], rules: unknown[]): Manifest {
  const metadata = labelled(name);
  const aggregate = aggregateTo.map((it) => [`${RBAC}/aggregate-to-${it}`, "true"]);
  return {
    apiVersion: RBAC_VERSION,
    kind: "ClusterRole",
    metadata: { ...metadata, labels: { ...metadata.labels, ...Object.fromEntries(aggregate) } },
    rules,
  };
}

/** Rights over jobs for users that may edit or view a namespace. */
export function userRoles({ name }: Settings, { all }: JobKinds): Manifest[] {
  const own = all.filter(({ group }) => group !== V1_GROUP);
  const groups = [...Map.groupBy(own, ({ group }) => group)].map(([group, kinds]) => ({
    group,
    jobs: [
      ...kinds.map(({ plural }) => plural),
      ...(group === TRAINER_GROUP ? [KINDS.optimizationJob.plural] : []),
    ],
    runtimes: group === TRAINER_GROUP ? ["trainingruntimes"] : [],
    clusterRuntimes: group === TRAINER_GROUP ? ["clustertrainingruntimes"] : [],
  }));
  return [
    aggregatedRole(
      `${name}-edit`,
      ["admin", "edit"],
      groups.map(({ group, jobs, runtimes }) => ({
        apiGroups: [group],
        resources: [...jobs, ...runtimes],
        verbs: [...READ, ...WRITE],
      })),
    ),
    aggregatedRole(`${name}-view`, ["view"], [
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

/** The same over jobs of the v1 kinds. */
export function v1UserRoles({ name }: Settings): Manifest[] {
  const apiGroups = [V1_GROUP];
  const jobs = V1_KIND_LIST.map(({ plural }) => plural);
  const scaled = V1_KIND_LIST.filter(({ scalable }) => scalable).map(({ plural }) =>
    `${plural}/scale`
  );
  return [
    aggregatedRole(`${name}-${V1_JOBS_PART}-edit`, ["admin", "edit"], [
      { apiGroups, resources: jobs, verbs: [...READ, ...WRITE] },
      { apiGroups, resources: scaled, verbs: ["get", "update", "patch"] },
    ]),
    aggregatedRole(`${name}-${V1_JOBS_PART}-view`, ["view"], [
      { apiGroups, resources: jobs.flatMap((job) => [job, `${job}/status`]), verbs: READ },
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
    ...publicReading(metadata),
  ];
}
