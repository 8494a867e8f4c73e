/** Rules of `spec.runtimePatches` that need no runtime: managers, metadata and reserved names. */
import { type FieldProblem, forbidden, invalid } from "../../crds/field_problem.ts";
import type { ObjectMeta } from "../../platform/kube/kubernetes.ts";
import { IDENTITY_VOLUME, LABELS, RESERVED_STATUS_ENV } from "../../crds/names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import type { PodSpecPatch, ReplicatedJobPatch, RuntimePatch } from "../../crds/runtime_patch.ts";
import { domainPathProblems } from "./domain_path.ts";

const PATCHES = "spec.runtimePatches";

/** Annotations that users may set on JobSets are not reserved. */
const { exclusiveTopology: _topology, nodeSelectorStrategy: _strategy, ...OWN_JOBSET_KEYS } =
  JOBSET_KEYS;

/** Labels that identify pods, Jobs and steps; a patch must not change them. */
const RESERVED_LABELS: readonly string[] = [
  LABELS.ancestorStep,
  LABELS.trainJobName,
  LABELS.trial,
  ...Object.values(OWN_JOBSET_KEYS),
];

/** Fields of embedded metadata that take effect; Go clients send the last one as null. */
const METADATA_FIELDS: readonly string[] = ["labels", "annotations", "creationTimestamp"];

function managerProblems(patch: RuntimePatch): FieldProblem[] {
  return domainPathProblems(patch.manager)
    .map(({ value, message }) => invalid(`${PATCHES}.manager`, value, message));
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

/** Volume, mount path and variables are reserved for the identity that pods are given. */
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
        const message = `mount path ${IDENTITY_VOLUME.mountPath} is reserved for the identity`;
        problems.push(forbidden(`${at}.volumeMounts`, message));
      }
    }
  }
  return problems;
}

function jobPatchProblems(patch: ReplicatedJobPatch, field: string): FieldProblem[] {
  const pod = patch.template?.spec?.template;
  const template = `${field}.template`;
  const podTemplate = `${template}.spec.template`;
  return [
    ...metadataProblems(patch.template?.metadata, `${template}.metadata`),
    ...metadataProblems(pod?.metadata, `${podTemplate}.metadata`),
    ...identityProblems(pod?.spec, `${podTemplate}.spec`),
  ];
}

/** Returns the problems of the patch itself, which is the one of that index. */
export function patchRules(patch: RuntimePatch, index: number): FieldProblem[] {
  const template = `${PATCHES}[${index}].trainingRuntimeSpec.template`;
  const { metadata, spec } = patch.trainingRuntimeSpec?.template ?? {};
  return [
    ...managerProblems(patch),
    ...metadataProblems(metadata, `${template}.metadata`),
    ...(spec?.replicatedJobs ?? []).flatMap((jobPatch, at) =>
      jobPatchProblems(jobPatch, `${template}.spec.replicatedJobs[${at}]`)
    ),
  ];
}
