/** Rules of `spec.runtimePatches` beyond the schema (contract trainjob.md 1.2 and 6). Pure. */
import type { JobSet } from "../crds/jobset.ts";
import type { ObjectMeta } from "../crds/kubernetes.ts";
import { IDENTITY_VOLUME, JOBSET_KEYS, LABELS, NODE, STEPS } from "../crds/names.ts";
import type {
  ContainerPatch,
  PodSpecPatch,
  ReplicatedJobPatch,
  RuntimePatch,
} from "../crds/runtime_patch.ts";
import type { TrainingRuntimeSpec } from "../crds/training_runtime.ts";
import type { TrainJob } from "../crds/trainjob.ts";
import { domainPathProblems } from "./domain_path.ts";
import { type FieldProblem, forbidden, invalid } from "../crds/field_problem.ts";
import { RESERVED_STATUS_ENV } from "./pod_injection.ts";
import { containersOf, hasNamed, initContainersOf, replicatedJobsOf } from "./runtime_template.ts";

const PATCHES = "spec.runtimePatches";

/** Containers whose variables come from the TrainJob's own fields. */
const CONTAINERS_WITHOUT_ENV: readonly string[] = [
  STEPS.datasetInitializer,
  STEPS.modelInitializer,
  NODE,
];

/** Annotations that users give to JobSets themselves. */
const { exclusiveTopology: _topology, nodeSelectorStrategy: _strategy, ...OWN_JOBSET_KEYS } =
  JOBSET_KEYS;

/** Labels by which pods, Jobs and steps are told; a patch may not move them. */
const RESERVED_LABELS: readonly string[] = [
  LABELS.ancestorStep,
  LABELS.trainJobName,
  LABELS.trial,
  ...Object.values(OWN_JOBSET_KEYS),
];

/** What of embedded metadata takes effect; Go clients send the last as null. */
const METADATA_FIELDS: readonly string[] = ["labels", "annotations", "creationTimestamp"];

function jobPatchesOf(patch: RuntimePatch): readonly ReplicatedJobPatch[] {
  return patch.trainingRuntimeSpec?.template?.spec?.replicatedJobs ?? [];
}

function podSpecOf(patch: ReplicatedJobPatch): PodSpecPatch | undefined {
  return patch.template?.spec?.template?.spec;
}

function managerProblems(patch: RuntimePatch): FieldProblem[] {
  const problems = domainPathProblems(patch.manager);
  return problems.map((text) => invalid(`${PATCHES}.manager`, patch.manager, text));
}

function missing(
  patches: readonly ContainerPatch[] | undefined,
  existing: readonly { readonly name: string }[],
): boolean {
  return (patches ?? []).some((patch) => !hasNamed(existing, patch.name));
}

/** Whether what a patch addresses is in the runtime, which patches cannot add to (G25). */
function targetProblems(patch: ReplicatedJobPatch, runtime: TrainingRuntimeSpec): FieldProblem[] {
  const job = replicatedJobsOf(runtime).find((one) => one.name === patch.name);
  if (job === undefined) {
    const detail = "must not have replicated job that doesn't exist in the runtime job template";
    return [invalid(PATCHES, patch.name, detail)];
  }
  const pod = podSpecOf(patch);
  const problem = (kind: string, patches: readonly ContainerPatch[] | undefined) =>
    invalid(
      PATCHES,
      patches?.map((one) => one.name),
      `must not have ${kind} that doesn't exist in the runtime job ${job.name}`,
    );
  return [
    ...(missing(pod?.initContainers, initContainersOf(job))
      ? [problem("initContainer", pod?.initContainers)]
      : []),
    ...(missing(pod?.containers, containersOf(job)) ? [problem("container", pod?.containers)] : []),
  ];
}

function envProblems(pod: PodSpecPatch | undefined): FieldProblem[] {
  const containers = [...pod?.initContainers ?? [], ...pod?.containers ?? []];
  const taken = containers.filter((container) =>
    CONTAINERS_WITHOUT_ENV.includes(container.name) && (container.env ?? []).length > 0
  );
  return taken.map((container) =>
    invalid(
      PATCHES,
      container.name,
      "must not have envs for the dataset-initializer, model-initializer, node containers",
    )
  );
}

function metadataProblems(metadata: ObjectMeta | undefined, field: string): FieldProblem[] {
  const set = Object.entries(metadata ?? {}).filter(([, value]) => value !== null);
  const ignored = set.filter(([name]) => !METADATA_FIELDS.includes(name));
  const labels = Object.keys({ ...metadata?.labels, ...metadata?.annotations });
  const reserved = labels.filter((label) => RESERVED_LABELS.includes(label));
  return [
    ...ignored.map(([name]) =>
      forbidden(`${field}.${name}`, "only labels and annotations can be patched")
    ),
    ...reserved.map((label) =>
      forbidden(field, `${label} is reserved: it ties jobs and pods together`)
    ),
  ];
}

/** What a pod's identity takes: its volume, its mount path, its variables. */
function identityProblems(pod: PodSpecPatch | undefined, field: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (pod?.volumes?.some((volume) => volume.name === IDENTITY_VOLUME.name)) {
    problems.push(
      forbidden(`${field}.volumes`, `volume ${IDENTITY_VOLUME.name} is reserved for the identity`),
    );
  }
  const lists = { initContainers: pod?.initContainers ?? [], containers: pod?.containers ?? [] };
  for (const [list, containers] of Object.entries(lists)) {
    for (const [index, container] of containers.entries()) {
      const at = `${field}.${list}[${index}]`;
      const names = (container.env ?? []).map((variable) => variable.name);
      for (const name of names.filter((name) => RESERVED_STATUS_ENV.includes(name))) {
        problems.push(forbidden(`${at}.env`, `${name} is reserved for the pod's identity`));
      }
      if (container.volumeMounts?.some((mount) => mount.mountPath === IDENTITY_VOLUME.mountPath)) {
        const detail = `mount path ${IDENTITY_VOLUME.mountPath} is reserved for the identity`;
        problems.push(forbidden(`${at}.volumeMounts`, detail));
      }
    }
  }
  return problems;
}

function jobPatchProblems(
  patch: ReplicatedJobPatch,
  field: string,
  runtime: TrainingRuntimeSpec | undefined,
): FieldProblem[] {
  const pod = podSpecOf(patch);
  const template = `${field}.template`;
  const podTemplate = `${template}.spec.template`;
  return [
    ...(runtime === undefined ? [] : targetProblems(patch, runtime)),
    ...envProblems(pod),
    ...metadataProblems(patch.template?.metadata, `${template}.metadata`),
    ...metadataProblems(patch.template?.spec?.template?.metadata, `${podTemplate}.metadata`),
    ...identityProblems(pod, `${podTemplate}.spec`),
  ];
}

/** Problems of the patches themselves; targets are looked up in `runtime` before any merging. */
export function validateRuntimePatches(
  job: TrainJob,
  runtime: TrainingRuntimeSpec | undefined,
): FieldProblem[] {
  return (job.spec.runtimePatches ?? []).flatMap((patch, index) => {
    const template = `${PATCHES}[${index}].trainingRuntimeSpec.template`;
    return [
      ...managerProblems(patch),
      ...metadataProblems(patch.trainingRuntimeSpec?.template?.metadata, `${template}.metadata`),
      ...jobPatchesOf(patch).flatMap((jobPatch, at) =>
        jobPatchProblems(jobPatch, `${template}.spec.replicatedJobs[${at}]`, runtime)
      ),
    ];
  });
}

/** Whether the patches may change now, given that they did: only around a suspension. */
export function validatePatchChange(
  job: TrainJob,
  old: TrainJob,
  jobSet: JobSet | undefined,
): FieldProblem[] {
  if (!job.spec.suspend && !old.spec.suspend) {
    return [
      forbidden(
        PATCHES,
        "RuntimePatches can only be modified when the TrainJob is suspended before or after the update",
      ),
    ];
  }
  const active = (jobSet?.status?.replicatedJobsStatus ?? []).filter((status) => status.active > 0);
  return active.map((status) =>
    forbidden(
      PATCHES,
      `RuntimePatches cannot be modified when the JobSet's ReplicatedJob ${status.name} is still active`,
    )
  );
}
