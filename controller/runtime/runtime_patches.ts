/** Stage: lays `spec.runtimePatches` over the template, in list order (contract trainjob.md 3.6). */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { ReplicatedJob } from "../../crds/jobset.ts";
import type { Container, EnvVar, ObjectMeta, PodSpec, Volume } from "../../crds/kubernetes.ts";
import { STEP_CONTAINERS } from "../../crds/names.ts";
import type {
  ContainerPatch,
  PodSpecPatch,
  ReplicatedJobPatch,
  RuntimePatch,
} from "../../crds/runtime_patch.ts";
import { type Draft, jobsOf, type Stage } from "./draft.ts";
import { byField, mergeLists, mergeMaps, mergeObjects } from "./merge.ts";
import { unshared } from "./copy.ts";

const STEP_CONTAINER_NAMES: readonly string[] = Object.values(STEP_CONTAINERS);

function patchMetadata(target: ObjectMeta | undefined, patch: ObjectMeta): ObjectMeta {
  const labels = mergeMaps(target?.labels, patch.labels);
  const annotations = mergeMaps(target?.annotations, patch.annotations);
  return { ...target, ...(labels && { labels }), ...(annotations && { annotations }) };
}

/** A patch's variable takes the place of the whole entry, so that `value` and `valueFrom` never meet. */
function mergeEnv(target: EnvVar[] | undefined, patch: EnvVar[]): EnvVar[] | undefined {
  const copy = (item: EnvVar) => unshared(item);
  return mergeLists(target, patch, {
    keyOf: ({ name }) => name,
    merge: (_old, item) => copy(item),
    create: copy,
  });
}

function patchContainer(container: Container, patch: ContainerPatch): Container {
  const { env, volumeMounts, securityContext } = patch;
  return {
    ...container,
    ...(env && { env: mergeEnv(container.env, env) }),
    ...(volumeMounts && {
      volumeMounts: mergeLists(
        container.volumeMounts,
        volumeMounts,
        byField(({ mountPath }) => mountPath),
      ),
    }),
    ...(securityContext && {
      securityContext: mergeObjects(container.securityContext, securityContext),
    }),
  };
}

function patchContainers(target: Container[], patch: ContainerPatch[]): Container[] {
  const merged = mergeLists<Container, ContainerPatch>(target, patch, {
    keyOf: ({ name }) => name,
    merge: patchContainer,
    create: (item) => patchContainer({ name: item.name }, item),
  });
  return merged ?? [];
}

function byName<T extends { name?: string }>() {
  return byField<T>(({ name }) => name ?? "");
}

function patchPodSpec(spec: PodSpec, patch: PodSpecPatch): PodSpec {
  const { serviceAccountName, terminationGracePeriodSeconds, tolerations } = patch;
  const { nodeSelector, affinity, securityContext, containers, initContainers } = patch;
  const { volumes, imagePullSecrets, schedulingGates } = patch;
  return {
    ...spec,
    ...(serviceAccountName && { serviceAccountName }),
    ...(typeof terminationGracePeriodSeconds === "number" && { terminationGracePeriodSeconds }),
    // An empty list says nothing, as upstream's patches can delete nothing.
    ...(tolerations?.length && { tolerations: unshared(tolerations) }),
    ...(nodeSelector && { nodeSelector: mergeMaps(spec.nodeSelector, nodeSelector) }),
    ...(affinity && { affinity: mergeObjects(spec.affinity, affinity) }),
    ...(securityContext && {
      securityContext: mergeObjects(spec.securityContext, securityContext),
    }),
    ...(containers && { containers: patchContainers(spec.containers, containers) }),
    ...(initContainers && {
      initContainers: patchContainers(spec.initContainers ?? [], initContainers),
    }),
    ...(volumes && { volumes: mergeLists(spec.volumes, volumes, byName()) }),
    ...(imagePullSecrets && {
      imagePullSecrets: mergeLists(spec.imagePullSecrets, imagePullSecrets, byName()),
    }),
    ...(schedulingGates && {
      schedulingGates: mergeLists(spec.schedulingGates, schedulingGates, byName()),
    }),
  };
}

/** The kinds of source that a volume has; the Job API takes one. */
function sourcesOf(volume: Volume): string[] {
  return Object.entries(volume)
    .filter(([field, value]) => field !== "name" && value !== undefined && value !== null)
    .map(([field]) => field);
}

type Check = (job: ReplicatedJob, patch: PodSpecPatch) => string | undefined;

function unknownContainer(
  known: readonly Container[] | undefined,
  patch: readonly ContainerPatch[] | undefined,
): boolean {
  return (patch ?? []).some(({ name }) => !known?.some((container) => container.name === name));
}

/** What a patch must not do; texts as upstream's webhook has them (contract trainjob.md 6). */
const CHECKS: readonly Check[] = [
  (job, patch) =>
    unknownContainer(job.template.spec?.template.spec?.initContainers, patch.initContainers)
      ? `must not have initContainer that doesn't exist in the runtime job ${job.name}`
      : undefined,
  (job, patch) =>
    unknownContainer(job.template.spec?.template.spec?.containers, patch.containers)
      ? `must not have container that doesn't exist in the runtime job ${job.name}`
      : undefined,
  (_job, patch) =>
    [...patch.containers ?? [], ...patch.initContainers ?? []].some((container) =>
        (container.env ?? []).length > 0 && STEP_CONTAINER_NAMES.includes(container.name)
      )
      ? "must not have envs for the dataset-initializer, model-initializer, node containers"
      : undefined,
  (job, patch) => {
    const known = job.template.spec?.template.spec?.volumes ?? [];
    const clash = (patch.volumes ?? []).find((volume) => {
      const old = known.find(({ name }) => name === volume.name);
      return old && new Set([...sourcesOf(old), ...sourcesOf(volume)]).size > 1;
    });
    return clash &&
      `must not change the type of volume ${clash.name} of the runtime job ${job.name}`;
  },
];

function patchJob(job: ReplicatedJob, patch: ReplicatedJobPatch): string | undefined {
  const { metadata, spec } = patch.template ?? {};
  if (metadata) job.template.metadata = patchMetadata(job.template.metadata, metadata);
  const pod = spec?.template;
  if (!pod) return undefined;
  const template = job.template.spec?.template;
  if (!template) return `must not change the pods of the runtime job ${job.name}, which has none`;
  if (pod.metadata) template.metadata = patchMetadata(template.metadata, pod.metadata);
  const podSpec = pod.spec;
  if (!podSpec || !template.spec) return undefined;
  for (const check of CHECKS) {
    const message = check(job, podSpec);
    if (message) return message;
  }
  template.spec = patchPodSpec(template.spec, podSpec);
  return undefined;
}

function applyPatch(draft: Draft, patch: RuntimePatch): string | undefined {
  const template = patch.trainingRuntimeSpec?.template;
  Object.assign(draft.metadata.labels, template?.metadata?.labels);
  Object.assign(draft.metadata.annotations, template?.metadata?.annotations);
  for (const jobPatch of template?.spec?.replicatedJobs ?? []) {
    const job = jobsOf(draft).find(({ name }) => name === jobPatch.name);
    if (!job) return "must not have replicated job that doesn't exist in the runtime job template";
    const message = patchJob(job, jobPatch);
    if (message) return message;
  }
  return undefined;
}

/** Applies the patches; the first that is not allowed ends the rendering. */
export const runtimePatches: Stage = {
  name: "runtimePatches",
  apply(draft): FieldProblem | undefined {
    for (const patch of draft.trainJob.spec.runtimePatches ?? []) {
      const message = applyPatch(draft, patch);
      if (message) {
        return { field: "spec.runtimePatches", message: `${message} (manager ${patch.manager})` };
      }
    }
    return undefined;
  },
};
