/**
 * Objects beside the pods of an MPIJob: the launcher's hostfile and scripts, and the account with which it starts
 * processes in the workers through the API server.
 */
import type { ConfigMap, Pod, ServiceAccount } from "../../../platform/kube/kubernetes.ts";
import { JOB_LIMITS } from "../../../crds/job_limits.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { JobChild, PodsByType } from "../kind_rules.ts";
import { metadataOf } from "../owner.ts";
import { replicaName, replicasOf, type Run } from "../run.ts";
import { isTerminating } from "../slots.ts";
import { namesOf } from "./rendezvous.ts";
import { asksForGpus, KUBECTL_PATH, MPI_FILES } from "./mpi_replicas.ts";

/** Runs a command in another pod: what `mpirun` takes for a remote shell. */
function remoteShell({ spec: { mainContainer } }: Run): string {
  const container = mainContainer ? ` --container "${mainContainer}"` : "";
  return `#!/bin/sh
# The first argument is the pod, the rest is the command.
pod=$1
shift
exec ${KUBECTL_PATH}/kubectl exec "$pod"${container} -- /bin/sh -c "$*"
`;
}

/** The hosts: the launcher is one of them if it has GPUs. */
function* hostsOf(run: Run): Generator<string> {
  const launcher = replicasOf(run, "Launcher");
  const workers = replicasOf(run, "Worker");
  if (launcher && asksForGpus(launcher)) yield replicaName(run, { of: launcher, index: 0 });
  if (workers) yield* namesOf(run, workers);
}

const hostLine = (host: string, slots: number) => `${host} slots=${slots}\n`;
const discoveryLine = (host: string, slots: number) => `\necho ${host}:${slots}`;
const configMapName = ({ name }: Run) => `${name}-config`;

/** The texts of the ConfigMap, as they are when every host runs. */
function* filePieces(run: Run): Generator<string> {
  const { slotsPerWorker: slots = 1 } = run.spec;
  yield remoteShell(run);
  for (const host of hostsOf(run)) yield hostLine(host, slots) + discoveryLine(host, slots);
}

/** Returns the ConfigMap with what names every host. */
export function mpiPodLists(run: Run) {
  const name = `ConfigMap ${configMapName(run)}`;
  return [{ name, pieces: filePieces(run), maxBytes: JOB_LIMITS.configMapBytes }];
}

const labelled = (run: Run, name: string) => ({
  ...metadataOf(run, name),
  labels: { app: run.name },
});

/** The ConfigMap. */
function configMapOf(run: Run, workers: ReturnType<typeof workersOf>): ConfigMap {
  const running = workers.filter(({ pod }) => pod.status?.phase === "Running");
  const slots = run.spec.slotsPerWorker ?? 1;
  const launcher = replicasOf(run, "Launcher");
  const hosts = [...hostsOf(run)];
  const found = [
    ...(launcher && asksForGpus(launcher) ? hosts.slice(0, 1) : []),
    ...running.map(({ name }) => name).sort(),
  ];
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: labelled(run, configMapName(run)),
    data: {
      [MPI_FILES.hostfile]: hosts.map((host) => hostLine(host, slots)).join(""),
      [MPI_FILES.remoteShell]: remoteShell(run),
      [MPI_FILES.discoverHosts]: ["#!/bin/sh", ...found.map((host) => discoveryLine(host, slots))]
        .join(""),
    },
  };
}

/**
 * The workers that the launcher may reach: those that are there, are the job's own, and have the names by which it knows
 * them. A pod of another job may have the name of one that is not there.
 */
function workersOf(run: Run, byType: PodsByType): { readonly name: string; readonly pod: Pod }[] {
  const of = replicasOf(run, "Worker");
  if (of === undefined) return [];
  return byType.pods(of.type)
    .map(({ index, pod }) => ({ name: replicaName(run, { of, index }), pod }))
    .filter(({ name, pod }) => pod.metadata?.name === name && !isTerminating(pod));
}

const launcherName = ({ name }: Run) => `${name}-launcher`;

/** Returns the right of the launcher's account to run commands in its workers. A rule without names would mean all pods. */
export function mpiRole(run: Run, byType: PodsByType): JobChild {
  const resourceNames = workersOf(run, byType).map(({ name }) => name);
  const exec = { apiGroups: [""], resources: ["pods/exec"], resourceNames, verbs: ["create"] };
  const object = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: labelled(run, launcherName(run)),
    rules: [
      { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] },
      ...resourceNames.length > 0 ? [exec] : [],
    ],
  };
  return { kind: KINDS.role, object, changes: ["rules"] };
}

/** The launcher's account, with that right and no other. */
function accountOf(run: Run, byType: PodsByType): JobChild[] {
  const name = launcherName(run);
  const own = replicasOf(run, "Launcher")?.template.spec?.serviceAccountName || undefined;
  const account: ServiceAccount = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: labelled(run, name),
  };
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: labelled(run, name),
    subjects: [{ kind: "ServiceAccount", name: own ?? name, namespace: run.namespace }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
  };
  return [
    ...(own === undefined ? [{ kind: KINDS.serviceAccount, object: account }] : []),
    mpiRole(run, byType),
    { kind: KINDS.roleBinding, object: binding },
  ];
}

/** Returns the objects. */
export function mpiChildren(run: Run, byType: PodsByType): JobChild[] {
  const configMap = configMapOf(run, workersOf(run, byType));
  const files = { kind: KINDS.configMap, object: configMap, changes: ["data"] };
  return [...accountOf(run, byType), files];
}
