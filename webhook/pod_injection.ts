/**
 * Identity injection for the pods of jobs (docs/decisions/0009): the projected volume with token and CA,
 * mounted read-only in every container, both families of variables, and the name of the container. Pure
 * and idempotent.
 *
 * The names belong to the injection: whatever the user has under the volume's name, the mount path or
 * a variable's name is replaced in place. So a pod that is admitted twice stays as it is.
 */
import type {
  Container,
  EnvVar,
  Pod,
  PodSpec,
  Volume,
  VolumeMount,
} from "../platform/kube/kubernetes.ts";
import { type AnyJob, type JobRef, statusPath } from "../crds/job_kind.ts";
import { checkpointOf, restartOf } from "../crds/job_state.ts";
import {
  ANNOTATIONS,
  CA_KEY,
  CONTAINER_NAME_ENV,
  IDENTITY_VOLUME,
  LABELS,
  PUSH_AUDIENCE,
  RESUME_ENV,
  STATUS_ENV,
} from "../crds/names.ts";

/** The job that a pod belongs to, by its labels. */
export type PodsJob = Omit<JobRef, "uid">;

/** `defaultMode` of a projected volume as the API server defaults it (0644), spelled to stay equal. */
const DEFAULT_FILE_MODE = 0o644;

/**
 * Returns the source of the CA bundle. A plain job's pod starts without it if the ConfigMap is missing (the
 * kubelet adds the file later): training does not wait for progress. A trial's pod waits for it, if it is
 * the manager that makes it. Where there is no ConfigMap the pod carries the bundle itself.
 */
function caSource({ kind: { caConfigMap }, name }: PodsJob, isTrial: boolean) {
  if (caConfigMap === undefined) {
    const fieldPath = `metadata.annotations['${ANNOTATIONS.caBundle}']`;
    const fieldRef = { apiVersion: "v1", fieldPath };
    return { downwardAPI: { items: [{ path: IDENTITY_VOLUME.caFile, fieldRef }] } };
  }
  const waits = isTrial && caConfigMap.madeByManager;
  return {
    configMap: {
      name: caConfigMap.nameOf(name),
      items: [{ key: CA_KEY, path: IDENTITY_VOLUME.caFile }],
      ...(waits ? {} : { optional: true }),
    },
  };
}

/** Returns the volume of a pod. */
function identityVolume(job: PodsJob, isTrial: boolean): Volume {
  return {
    name: IDENTITY_VOLUME.name,
    projected: {
      defaultMode: DEFAULT_FILE_MODE,
      sources: [
        {
          serviceAccountToken: {
            audience: PUSH_AUDIENCE,
            expirationSeconds: IDENTITY_VOLUME.expirationSeconds,
            path: IDENTITY_VOLUME.tokenFile,
          },
        },
        caSource(job, isTrial),
      ],
    },
  };
}

const identityMount: VolumeMount = {
  name: IDENTITY_VOLUME.name,
  mountPath: IDENTITY_VOLUME.mountPath,
  readOnly: true,
};

/** Returns the variables of both families, with the URL of this job's status endpoint. */
function identityEnv({ kind, namespace, name }: PodsJob, endpoint: string): EnvVar[] {
  const url = endpoint.replace(/\/+$/, "") + statusPath(kind, namespace, name);
  return [STATUS_ENV.kep, STATUS_ENV.sdk].flatMap((family) => [
    { name: family.url, value: url },
    { name: family.caCert, value: `${IDENTITY_VOLUME.mountPath}/${IDENTITY_VOLUME.caFile}` },
    { name: family.token, value: `${IDENTITY_VOLUME.mountPath}/${IDENTITY_VOLUME.tokenFile}` },
  ]);
}

/** Returns the items with `wanted` in place of the first one of its key, without others of that key, or at the end. */
function upsert<T>(items: readonly T[], wanted: T, key: (item: T) => string): T[] {
  const at = items.findIndex((item) => key(item) === key(wanted));
  if (at < 0) return [...items, wanted];
  return items.flatMap((item, index) => {
    if (index === at) return [wanted];
    return key(item) === key(wanted) ? [] : [item];
  });
}

const normalPath = (mount: VolumeMount) => mount.mountPath.replace(/\/+$/, "");

/** Where a program leaves its last words, unless its container says otherwise, and what a kubelet does without any. */
const LAST_WORDS = { path: "/dev/termination-log", policy: "File" } as const;

/** The container, of which the kubelet tells the end of the log if it fails and has left no last words itself. */
function tellingContainer(container: Container): Container {
  const {
    terminationMessagePath = LAST_WORDS.path,
    terminationMessagePolicy = LAST_WORDS.policy,
  } = container;
  const isDefault = terminationMessagePath === LAST_WORDS.path &&
    terminationMessagePolicy === LAST_WORDS.policy;
  return isDefault
    ? { ...container, terminationMessagePolicy: "FallbackToLogsOnError" }
    : container;
}

/** The specification with all its containers changed. */
function withContainers(spec: PodSpec, change: (container: Container) => Container): PodSpec {
  const { containers, initContainers } = spec;
  return {
    ...spec,
    containers: containers.map(change),
    ...(initContainers ? { initContainers: initContainers.map(change) } : {}),
  };
}

/** Returns the pod with what its programs say last in its status, for the job's failure (docs/decisions/0078). */
export function withLastWords(pod: Pod): Pod {
  return pod.spec === undefined
    ? pod
    : { ...pod, spec: withContainers(pod.spec, tellingContainer) };
}

function injectContainer(container: Container, identity: readonly EnvVar[]): Container {
  const env = [...identity, { name: CONTAINER_NAME_ENV, value: container.name }];
  return {
    ...container,
    env: env.reduce((all, one) => upsert(all, one, (item) => item.name), container.env ?? []),
    volumeMounts: upsert(container.volumeMounts ?? [], identityMount, normalPath),
  };
}

/** Kubernetes would put the values of other variables in the place of `$(NAME)`. */
const verbatim = (value: string) => value.replaceAll("$", "$$$$");

/**
 * Returns the pod with what its programs go on from, in variables of its containers; those that a container has itself
 * stay. Whatever has made the pod anew, its job may have a checkpoint.
 */
export function withResumption(
  pod: Pod,
  job: Pick<AnyJob, "kind" | "metadata" | "status"> | undefined,
): Pod {
  if (pod.spec === undefined || job === undefined) return pod;
  const { step, location } = checkpointOf(job) ?? {};
  const { count } = restartOf(job) ?? {};
  const all: EnvVar[] = [];
  if (count !== undefined) all.push({ name: RESUME_ENV.restart, value: String(count) });
  if (step !== undefined) all.push({ name: RESUME_ENV.checkpointStep, value: String(step) });
  if (location) all.push({ name: RESUME_ENV.checkpoint, value: verbatim(location) });
  if (all.length === 0) return pod;
  const containers = pod.spec.containers.map((container) => {
    const env = container.env ?? [];
    const missing = all.filter(({ name }) => !env.some((it) => it.name === name));
    return { ...container, env: [...env, ...missing] };
  });
  return { ...pod, spec: { ...pod.spec, containers } };
}

/** Where pods find the status endpoint. */
export interface PodEndpoint {
  /** Base URL, such as `https://host:8082`. */
  readonly url: string;
  /** Every CA that may have signed its certificate, PEM. */
  readonly caBundle: string;
}

/** Returns the pod with the identity of the job whose progress it reports. */
export function injectIdentity(pod: Pod, job: PodsJob, endpoint: PodEndpoint): Pod {
  if (pod.spec === undefined) return pod;
  const env = identityEnv(job, endpoint.url);
  const isTrial = pod.metadata?.labels?.[LABELS.trial] !== undefined;
  const volume = identityVolume(job, isTrial);
  const carries = job.kind.caConfigMap === undefined &&
    { [ANNOTATIONS.caBundle]: endpoint.caBundle };
  return {
    ...pod,
    ...(carries && {
      metadata: { ...pod.metadata, annotations: { ...pod.metadata?.annotations, ...carries } },
    }),
    spec: {
      ...withContainers(pod.spec, (container) => injectContainer(container, env)),
      volumes: upsert(pod.spec.volumes ?? [], volume, (item) => item.name),
    },
  };
}

/** Warnings for whoever creates the pod about what the injection replaces. */
export function injectionWarnings(pod: Pod): string[] {
  const taken = pod.spec?.volumes?.find((volume) =>
    volume.name === IDENTITY_VOLUME.name && volume.projected === undefined
  );
  if (taken === undefined) return [];
  return [`volume "${IDENTITY_VOLUME.name}" is reserved for the pod's identity and was replaced`];
}
