/** Rendering of a Job's pods. Pure. */
import type { Container, EnvVar, Job, ObjectMeta, Pod } from "../../platform/kube/kubernetes.ts";
import { DNS_LABEL_MAX } from "../../crds/names.ts";
import { COMPLETION_INDEX_ENV, JOB_KEYS } from "../../crds/job_names.ts";
import { SUFFIX_LENGTH } from "../../platform/base/random_suffix.ts";
import { controllerReference } from "../../platform/kube/owner_references.ts";

/** `<job>-<index>-`, or `<job>-`: as long as the random part leaves room for. */
export function podNamePrefix(job: string, index: number | undefined): string {
  const end = index === undefined ? "-" : `-${index}-`;
  return `${job.slice(0, DNS_LABEL_MAX - SUFFIX_LENGTH - end.length)}${end}`;
}

function withIndexEnv(container: Container): Container {
  const env = container.env ?? [];
  if (env.some(({ name }) => name === COMPLETION_INDEX_ENV)) return container;
  const fieldPath = `metadata.labels['${JOB_KEYS.completionIndex}']`;
  const variable: EnvVar = { name: COMPLETION_INDEX_ENV, valueFrom: { fieldRef: { fieldPath } } };
  return { ...container, env: [...env, variable] };
}

function podMetadata(job: Job, index: number | undefined): ObjectMeta {
  const { name = "", uid = "" } = job.metadata ?? {};
  const template = job.spec?.template.metadata;
  const indexKeys: Record<string, string> = index === undefined
    ? {}
    : { [JOB_KEYS.completionIndex]: `${index}` };
  const annotations = { ...template?.annotations, ...indexKeys };
  return {
    namespace: job.metadata?.namespace,
    labels: {
      ...template?.labels,
      [JOB_KEYS.jobName]: name,
      [JOB_KEYS.legacyJobName]: name,
      [JOB_KEYS.controllerUid]: uid,
      [JOB_KEYS.legacyControllerUid]: uid,
      ...indexKeys,
    },
    ...(Object.keys(annotations).length > 0 && { annotations }),
    finalizers: [...template?.finalizers ?? [], JOB_KEYS.trackingFinalizer],
    ownerReferences: [controllerReference({ apiVersion: "batch/v1", kind: "Job", name, uid })],
  };
}

/** A pod of a Job; with `index` for an Indexed one. `suffix` ends its name. */
export function renderPod(job: Job, suffix: string, index?: number): Pod {
  const name = job.metadata?.name ?? "";
  const prefix = podNamePrefix(name, index);
  const spec = job.spec?.template.spec;
  const indexed = spec && index !== undefined
    ? {
      ...spec,
      hostname: `${name}-${index}`,
      containers: spec.containers.map(withIndexEnv),
      ...(spec.initContainers && { initContainers: spec.initContainers.map(withIndexEnv) }),
    }
    : spec;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...podMetadata(job, index),
      name: `${prefix}${suffix}`,
      generateName: prefix,
    },
    ...(indexed && { spec: indexed }),
  };
}
