/**
 * Gives a TrainJob's pod its identity (design, decision 4): the projected volume with token and CA,
 * mounted read-only in every container, and both families of variables. Pure and idempotent.
 *
 * The names belong to the injection: what the user has under the volume's name, the mount path or
 * a variable's name is replaced in place. So a pod that is admitted twice stays as it is.
 */
import type { Container, EnvVar, Pod, Volume, VolumeMount } from "../crds/kubernetes.ts";
import {
  CA_KEY,
  childNames,
  IDENTITY_VOLUME,
  LABELS,
  PUSH_AUDIENCE,
  STATUS_ENV,
  statusPath,
} from "../crds/names.ts";

/** The TrainJob that a pod belongs to. */
export interface TrainJobIdentity {
  readonly namespace: string;
  readonly trainJob: string;
}

/** `defaultMode` of a projected volume as the API server defaults it (0644), spelled to stay equal. */
const DEFAULT_FILE_MODE = 0o644;

/**
 * The volume of a pod. A plain job's pod starts without its CA where the ConfigMap is missing (the
 * kubelet adds the file later): training does not wait for progress. A trial's pod waits for it.
 */
function identityVolume(trainJob: string, isTrial: boolean): Volume {
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
        {
          configMap: {
            name: childNames.tlsConfig(trainJob),
            items: [{ key: CA_KEY, path: IDENTITY_VOLUME.caFile }],
            ...(isTrial ? {} : { optional: true }),
          },
        },
      ],
    },
  };
}

const identityMount: VolumeMount = {
  name: IDENTITY_VOLUME.name,
  mountPath: IDENTITY_VOLUME.mountPath,
  readOnly: true,
};

/** The variables of one family or both, with the URL of this job's status endpoint. */
function identityEnv(identity: TrainJobIdentity, endpoint: string): EnvVar[] {
  const url = endpoint.replace(/\/+$/, "") + statusPath(identity.namespace, identity.trainJob);
  return [STATUS_ENV.kep, STATUS_ENV.sdk].flatMap((family) => [
    { name: family.url, value: url },
    { name: family.caCert, value: `${IDENTITY_VOLUME.mountPath}/${IDENTITY_VOLUME.caFile}` },
    { name: family.token, value: `${IDENTITY_VOLUME.mountPath}/${IDENTITY_VOLUME.tokenFile}` },
  ]);
}

/** `wanted` where the first item with the same key stood (others of that key go), or at the end. */
function upsert<T>(items: readonly T[], wanted: T, key: (item: T) => string): T[] {
  const at = items.findIndex((item) => key(item) === key(wanted));
  if (at < 0) return [...items, wanted];
  return items.flatMap((item, index) => {
    if (index === at) return [wanted];
    return key(item) === key(wanted) ? [] : [item];
  });
}

const normalPath = (mount: VolumeMount) => mount.mountPath.replace(/\/+$/, "");

function injectContainer(container: Container, env: readonly EnvVar[]): Container {
  return {
    ...container,
    env: env.reduce((all, one) => upsert(all, one, (item) => item.name), container.env ?? []),
    volumeMounts: upsert(container.volumeMounts ?? [], identityMount, normalPath),
  };
}

/**
 * The pod with the identity of its TrainJob.
 *
 * @param identity whose progress the pod reports
 * @param endpoint base URL of the status endpoint, such as `https://host:8082`
 */
export function injectIdentity(pod: Pod, identity: TrainJobIdentity, endpoint: string): Pod {
  if (pod.spec === undefined) return pod;
  const env = identityEnv(identity, endpoint);
  const isTrial = pod.metadata?.labels?.[LABELS.trial] !== undefined;
  const volume = identityVolume(identity.trainJob, isTrial);
  const inject = (container: Container) => injectContainer(container, env);
  const { initContainers } = pod.spec;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      volumes: upsert(pod.spec.volumes ?? [], volume, (item) => item.name),
      containers: pod.spec.containers.map(inject),
      ...(initContainers ? { initContainers: initContainers.map(inject) } : {}),
    },
  };
}

/** What the injection takes away from the pod's author, as warnings for whoever creates the pod. */
export function injectionWarnings(pod: Pod): string[] {
  const taken = pod.spec?.volumes?.find((volume) =>
    volume.name === IDENTITY_VOLUME.name && volume.projected === undefined
  );
  if (taken === undefined) return [];
  return [`volume "${IDENTITY_VOLUME.name}" is reserved for the pod's identity and was replaced`];
}
