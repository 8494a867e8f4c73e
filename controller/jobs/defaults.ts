/** Defaults of a v1 job: they exist while it is reconciled, and are never stored. */
import type { Container, PodTemplateSpec } from "../../platform/kube/kubernetes.ts";
import { restartOf } from "../../crds/job_state.ts";
import { replicaSpecsOf, type V1Job } from "../../crds/v1/job.ts";
import type { V1Kind } from "../../crds/v1/kinds.ts";
import { CLEAN_POD_POLICIES, type CleanPodPolicy, RESTART_POLICIES } from "../../crds/v1/names.ts";
import { DEFAULT_V1_SETTINGS } from "./v1_settings.ts";
import type { Replicas, Run } from "./run.ts";
import { podProblem } from "./size.ts";

/** Replicas of a type if the job does not say. */
function defaultCount(kind: V1Kind, type: string): number {
  return kind.kind === "MPIJob" && type === "Worker" ? 0 : 1;
}

/** Returns the container that trains: the one of the kind's name, else the first one. */
export function trainingContainer(
  { container }: Pick<V1Kind, "container">,
  { spec }: PodTemplateSpec,
): Container | undefined {
  return spec?.containers?.find(({ name }) => name === container) ?? spec?.containers?.[0];
}

/** The template with the kind's port in the container that trains, unless a port has that name. */
function withPort(kind: V1Kind, template: PodTemplateSpec): PodTemplateSpec {
  const { port } = kind;
  const container = trainingContainer(kind, template);
  if (port === undefined || container === undefined || template.spec === undefined) return template;
  if (container.ports?.some(({ name }) => name === port.name)) return template;
  const ports = [...container.ports ?? [], { name: port.name, containerPort: port.number }];
  const containers = template.spec.containers.map((it) =>
    it === container ? { ...container, ports } : it
  );
  return { ...template, spec: { ...template.spec, containers } };
}

/** The types of the job in the order of the table, with their spellings; a type that the table lacks has no pods. */
function replicasOf(kind: V1Kind, job: V1Job): Replicas[] {
  const specs = Object.entries(replicaSpecsOf(job, kind));
  const spell = (key: string) =>
    kind.replicaTypes.find((type) => type.toLowerCase() === key.toLowerCase());
  const known = kind.replicaTypes.flatMap((type) => {
    const spec = specs.find(([key]) => spell(key) === type)?.[1];
    return spec === undefined ? [] : [{ type, spec }];
  });
  return known.map(({ type, spec }) => ({
    type,
    count: spec.replicas ?? defaultCount(kind, type),
    // A policy that admission would refuse is none.
    restartPolicy: RESTART_POLICIES.find((it) => it === spec.restartPolicy) ?? kind.restartPolicy,
    template: withPort(kind, spec.template ?? {}),
  }));
}

/** Any value that is not known deletes all pods, as upstream's does. */
function cleanPodPolicyOf({ spec }: V1Job): CleanPodPolicy {
  const wanted = spec.runPolicy?.cleanPodPolicy ?? spec.cleanPodPolicy ?? "None";
  return CLEAN_POD_POLICIES.find((it) => it === wanted) ?? "All";
}

/** The spec with the defaults of single kinds. */
function specOf(kind: V1Kind, { spec }: V1Job, replicas: readonly Replicas[]): V1Job["spec"] {
  const { elasticPolicy } = spec;
  const workers = replicas.find(({ type }) => type === "Worker")?.count ?? 1;
  const elastic = elasticPolicy && {
    elasticPolicy: {
      ...elasticPolicy,
      minReplicas: elasticPolicy.minReplicas ?? elasticPolicy.maxReplicas ?? workers,
      maxReplicas: elasticPolicy.maxReplicas ?? elasticPolicy.minReplicas ?? workers,
      rdzvBackend: elasticPolicy.rdzvBackend ?? "c10d",
    },
  };
  const processes = kind.kind === "PyTorchJob" && elasticPolicy?.nProcPerNode === undefined
    ? { nprocPerNode: spec.nprocPerNode ?? "auto" }
    : {};
  const slots = kind.kind === "MPIJob" ? { slotsPerWorker: spec.slotsPerWorker ?? 1 } : {};
  return { ...spec, ...elastic, ...processes, ...slots };
}

/** Returns the run of a job that was read from the API server. Throws if its replica types cannot be read. */
export function runOf(kind: V1Kind, job: V1Job, settings = DEFAULT_V1_SETTINGS): Run {
  const { namespace = "", name = "", uid = "", annotations = {} } = job.metadata;
  const replicas = replicasOf(kind, job);
  return {
    kind,
    namespace,
    name,
    uid,
    annotations,
    replicas,
    tooLarge: podProblem(kind, replicas, settings.maxPodsPerJob),
    cleanPodPolicy: cleanPodPolicyOf(job),
    suspended: job.spec.runPolicy?.suspend === true,
    restart: restartOf(job),
    spec: specOf(kind, job, replicas),
    settings,
    status: job.status ?? {},
  };
}
