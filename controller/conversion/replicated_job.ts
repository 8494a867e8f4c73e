/** Replicated job for the replicas of one type of a v1 job. */
import type { ReplicatedJob } from "../../crds/jobset.ts";
import type { Container, EnvVar, Job, PodTemplateSpec } from "../../platform/kube/kubernetes.ts";
import { LABELS, NODE, STEPS } from "../../crds/names.ts";
import { trainingContainer } from "../jobs/defaults.ts";
import type { Replicas, Run } from "../jobs/run.ts";
import { type NodeNames, renamedContainer } from "./pod_texts.ts";

type JobSpec = NonNullable<Job["spec"]>;

/** The end of the first pod is the end of the Job. */
export const FIRST_POD_DECIDES: Partial<JobSpec> = {
  successPolicy: { rules: [{ succeededIndexes: "0" }] },
};

/** Exit codes that are permanent under the restart policy `ExitCode`. */
const PERMANENT = Array.from({ length: 127 }, (_, index) => index + 1);

/** As often as a Job can; a v1 job without a limit restarts for ever. */
export const UNLIMITED = 2_147_483_647;

/** How the failures of pods end the Job: as the restart policy and the limit of the v1 job say. */
function failureFields({ spec }: Run, { restartPolicy }: Replicas, container: string) {
  const backoffLimit = spec.runPolicy?.backoffLimit ?? UNLIMITED;
  switch (restartPolicy) {
    case "ExitCode": {
      const onExitCodes = { containerName: container, operator: "In", values: PERMANENT };
      const rules = [{ action: "FailJob", onExitCodes }];
      return { backoffLimit, podFailurePolicy: { rules } };
    }
    case "Never":
      return { backoffLimit: 0 };
    default:
      return { backoffLimit };
  }
}

/** Returns why the restart policy has no equal in a Job; undefined if it has. */
export function restartRefusal({ kind }: Run, { type, restartPolicy }: Replicas) {
  return restartPolicy === "Always"
    ? `spec.${kind.specsKey}[${type}].restartPolicy: Always starts a replica again also after it has succeeded; ` +
      "a Job cannot, use OnFailure"
    : undefined;
}

/** Parts of a replicated job that its type decides. */
export interface JobParts {
  readonly name: string;
  /** Whether its pods are the nodes that `numNodes` counts. */
  readonly isTrainer: boolean;
  /** The variables that are added to its containers; `trains` says whether it is the one that trains. */
  readonly variables: (trains: boolean) => readonly EnvVar[];
  /** Variables that the policy sets: those of the user's by these names never counted. Default: none. */
  readonly replaces?: readonly string[];
  /** The nodes, by the names that templates may write out. */
  readonly names: NodeNames;
  /** More of the Job's spec. */
  readonly job?: Partial<JobSpec>;
}

/** An annotation of the template by which a container is named in its key. */
const APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/";

/** Returns a part of a template in which references to the container that trains have its new name. */
function referred<T>(part: T, name: string): T {
  return JSON.parse(
    JSON.stringify(part),
    (key, value) => key === "containerName" && value === name ? NODE : value,
  );
}

/** The template with the container that trains named as TrainJobs want it. */
function podTemplate(run: Run, replicas: Replicas, parts: JobParts): PodTemplateSpec {
  const { variables, replaces = [], names } = parts;
  const { metadata, spec } = replicas.template;
  const training = trainingContainer(run.kind, replicas.template);
  const { name: trainingName = "" } = training ?? {};
  const containers = (spec?.containers ?? []).map((container): Container => {
    const trains = container === training;
    const added = variables(trains);
    // The operator's own came last, and so counted.
    const set = new Set([...replaces, ...added.map(({ name }) => name)]);
    const renamed = renamedContainer(names, container);
    const env = [...(renamed.env ?? []).filter(({ name }) => !set.has(name)), ...added];
    const { env: _, ...others } = renamed;
    return {
      ...others,
      name: trains ? NODE : container.name,
      ...env.length > 0 ? { env } : {},
    };
  });
  const initContainers = spec?.initContainers?.map((it) => renamedContainer(names, it));
  const restartPolicy = replicas.restartPolicy === "OnFailure" ? "OnFailure" : "Never";
  const annotations = metadata?.annotations && Object.fromEntries(
    Object.entries(metadata.annotations).map(([key, value]) =>
      key === `${APP_ARMOR}${trainingName}` ? [`${APP_ARMOR}${NODE}`, value] : [key, value]
    ),
  );
  return {
    ...metadata && { metadata: { ...metadata, ...annotations && { annotations } } },
    spec: referred(
      { ...spec, ...initContainers && { initContainers }, containers, restartPolicy },
      trainingName,
    ),
  };
}

/** Returns the replicated job. */
export function replicatedJob(run: Run, replicas: Replicas, parts: JobParts): ReplicatedJob {
  const { name, isTrainer, job } = parts;
  const labels = { [LABELS.ancestorStep]: STEPS.trainer };
  return {
    name,
    template: {
      ...isTrainer ? { metadata: { labels } } : {},
      spec: {
        ...isTrainer ? {} : { parallelism: replicas.count, completions: replicas.count },
        ...failureFields(run, replicas, NODE),
        ...job,
        template: podTemplate(run, replicas, parts),
      },
    },
  };
}
