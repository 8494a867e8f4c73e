/** Stage that merges `spec.runtimePatches` into the template, in list order. */
import { type FieldProblem, invalid } from "../../crds/field_problem.ts";
import type { ReplicatedJob } from "../../crds/jobset.ts";
import type {
  Container,
  EnvVar,
  ObjectMeta,
  PodSpec,
  Volume,
} from "../../platform/kube/kubernetes.ts";
import { STEP_CONTAINERS } from "../../crds/names.ts";
import type {
  ContainerPatch,
  PodSpecPatch,
  ReplicatedJobPatch,
  RuntimePatch,
} from "../../crds/runtime_patch.ts";
import { unshared } from "./copy.ts";
import {
  containersOf,
  type Draft,
  hasNamed,
  initContainersOf,
  jobsOf,
  podSpecOf,
  type Stage,
} from "./draft.ts";
import { byField, mergeLists, mergeMaps, mergeObjects } from "./merge.ts";
import { patchRules } from "./patch_rules.ts";

const PATCHES = "spec.runtimePatches";
const problemOf = (value: unknown, message: string) => invalid(PATCHES, value, message);
const STEP_CONTAINER_NAMES: readonly string[] = Object.values(STEP_CONTAINERS);

function patchMetadata(target: ObjectMeta | undefined, patch: ObjectMeta): ObjectMeta {
  const labels = mergeMaps(target?.labels, patch.labels);
  const annotations = mergeMaps(target?.annotations, patch.annotations);
  return { ...target, ...(labels && { labels }), ...(annotations && { annotations }) };
}

/** Replaces whole entries, so that none has both `value` and `valueFrom`. */
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
    // An empty list changes nothing: a patch cannot delete, as upstream.
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

/** Returns the kinds of source that a volume has; the Job API takes one. */
function sourcesOf(volume: Volume): string[] {
  return Object.entries(volume)
    .filter(([field, value]) => field !== "name" && value !== undefined && value !== null)
    .map(([field]) => field);
}

/** A patch of one job, with what earlier patches of the same job add to it. */
interface PatchedJob {
  readonly job: ReplicatedJob;
  readonly patch: PodSpecPatch;
  readonly earlierVolumes: readonly Volume[];
}

function containerProblems({ job, patch }: PatchedJob): FieldProblem[] {
  const lists = [
    { kind: "initContainer", known: initContainersOf(job), patched: patch.initContainers ?? [] },
    { kind: "container", known: containersOf(job), patched: patch.containers ?? [] },
  ];
  return lists
    .filter(({ known, patched }) => patched.some(({ name }) => !hasNamed(known, name)))
    .map(({ kind, patched }) =>
      problemOf(
        patched.map(({ name }) => name),
        `must not have ${kind} that doesn't exist in the runtime job ${job.name}`,
      )
    );
}

function envProblems({ patch }: PatchedJob): FieldProblem[] {
  return (patch.containers ?? [])
    .filter(({ name, env }) => (env ?? []).length > 0 && STEP_CONTAINER_NAMES.includes(name))
    .map(({ name }) =>
      problemOf(
        name,
        "must not have envs for the dataset-initializer, model-initializer, node containers",
      )
    );
}

function volumeProblems({ job, patch, earlierVolumes }: PatchedJob): FieldProblem[] {
  const known = [...podSpecOf(job)?.volumes ?? [], ...earlierVolumes];
  return (patch.volumes ?? [])
    .filter((volume) =>
      known.some((old) =>
        old.name === volume.name && new Set([...sourcesOf(old), ...sourcesOf(volume)]).size > 1
      )
    )
    .map(({ name }) =>
      problemOf(
        name,
        `must not change the type of volume ${name} of the runtime job ${job.name}`,
      )
    );
}

function podSpecPatchOf(patch: ReplicatedJobPatch): PodSpecPatch | undefined {
  return patch.template?.spec?.template?.spec;
}

/** Judges a patch by the runtime's own job: patches can add neither jobs nor containers. */
function jobPatchProblems(
  draft: Draft,
  patch: ReplicatedJobPatch,
  earlier: readonly ReplicatedJobPatch[],
): FieldProblem[] {
  const job = jobsOf(draft).find(({ name }) => name === patch.name);
  if (!job) {
    const message = "must not have replicated job that doesn't exist in the runtime job template";
    return [problemOf(patch.name, message)];
  }
  const podSpec = podSpecPatchOf(patch);
  if (patch.template?.spec?.template && !job.template.spec?.template) {
    const message = `must not change the pods of the runtime job ${job.name}, which has none`;
    return [problemOf(patch.name, message)];
  }
  if (!podSpec) return [];
  const earlierVolumes = earlier.filter(({ name }) => name === job.name)
    .flatMap((one) => podSpecPatchOf(one)?.volumes ?? []);
  const patched = { job, patch: podSpec, earlierVolumes };
  return [...containerProblems(patched), ...envProblems(patched), ...volumeProblems(patched)];
}

function jobPatchesOf({ trainingRuntimeSpec }: RuntimePatch): ReplicatedJobPatch[] {
  return trainingRuntimeSpec?.template?.spec?.replicatedJobs ?? [];
}

function patchesOf({ trainJob }: Draft): RuntimePatch[] {
  return trainJob.spec.runtimePatches ?? [];
}

/** Returns the problems with those of one rule about all patches as one, which has every name that breaks it. */
function byRule(problems: readonly FieldProblem[]): FieldProblem[] {
  return problems.flatMap((problem, index) => {
    const same = problems.filter(({ field, message }) =>
      field === PATCHES && message === problem.message
    );
    if (same.length < 2) return [problem];
    const value = [...new Set(same.flatMap((one) => one.value))];
    return problems.indexOf(same[0] ?? problem) === index ? [{ ...problem, value }] : [];
  });
}

/** Returns the problems of the patches with the runtime, patch by patch; the rules of each come first. */
function patchProblems(draft: Draft, rulesOf: typeof patchRules): FieldProblem[] {
  const earlier: ReplicatedJobPatch[] = [];
  return byRule(
    patchesOf(draft).flatMap((patch, index) => [
      ...rulesOf(patch, index),
      ...jobPatchesOf(patch).flatMap((jobPatch) => {
        const problems = jobPatchProblems(draft, jobPatch, earlier);
        earlier.push(jobPatch);
        return problems;
      }),
    ]),
  );
}

function patchJob(job: ReplicatedJob, patch: ReplicatedJobPatch): void {
  const { metadata, spec } = patch.template ?? {};
  if (metadata) job.template.metadata = patchMetadata(job.template.metadata, metadata);
  const template = job.template.spec?.template;
  const pod = spec?.template;
  if (!template || !pod) return;
  if (pod.metadata) template.metadata = patchMetadata(template.metadata, pod.metadata);
  if (pod.spec && template.spec) template.spec = patchPodSpec(template.spec, pod.spec);
}

/** Merges the patches if all of them fit the runtime. */
export const runtimePatches: Stage = {
  name: "runtimePatches",
  validate: (draft) => patchProblems(draft, () => []),
  admit: (draft) => patchProblems(draft, patchRules),
  apply(draft) {
    for (const { trainingRuntimeSpec } of patchesOf(draft)) {
      const { labels, annotations } = trainingRuntimeSpec?.template?.metadata ?? {};
      Object.assign(draft.metadata.labels, labels);
      Object.assign(draft.metadata.annotations, annotations);
    }
    for (const patch of patchesOf(draft).flatMap(jobPatchesOf)) {
      const job = jobsOf(draft).find(({ name }) => name === patch.name);
      if (job) patchJob(job, patch);
    }
  },
};
