/** `milepost observation-log` in a cluster: its Deployment, disk, Service and network, for kustomize. */
import { flagOf } from "../app/configuration/setting_entries.ts";
import { KATIB } from "../crds/katib_names.ts";
import { MANAGER } from "../crds/names.ts";
import { argumentPatch } from "./manager_manifests.ts";
import { COMMON_LABELS, type Manifest, SELECTOR, type Settings } from "./installation_settings.ts";

/** User and group of the image's unprivileged user. */
const NONROOT = 65532;
/** Of Deployment, Service, claim and NetworkPolicy. */
export const OBSERVATION_LOG = "kubeflow-trainer-observation-log";
/** Namespace of Katib's own parts, as its manifests have it. */
const KATIB_NAMESPACE = "kubeflow";
const PORT = KATIB.dbManagerPort;

const OWN_LABELS = { ...SELECTOR, "app.kubernetes.io/component": "observation-log" };

const labelled = (namespace: string): Manifest["metadata"] => ({
  name: OBSERVATION_LOG,
  namespace,
  labels: { ...COMMON_LABELS, ...OWN_LABELS },
});

const FILES = { tls: "/tls", data: "/data" } as const;

function container({ image, imagePullPolicy, logLevel }: Settings) {
  const grpc = { grpc: { port: PORT }, timeoutSeconds: 3 };
  return {
    name: "observation-log",
    image,
    imagePullPolicy,
    args: [
      "observation-log",
      `--data-dir=${FILES.data}`,
      `--tls-cert=${FILES.tls}/tls.crt`,
      `--tls-key=${FILES.tls}/tls.key`,
      `--client-ca=${FILES.tls}/ca.crt,${FILES.tls}/ca-next.crt`,
      `--log-level=${logLevel}`,
    ],
    ports: [{ name: "api", containerPort: PORT, protocol: "TCP" }],
    livenessProbe: { ...grpc, periodSeconds: 20, failureThreshold: 6 },
    readinessProbe: { ...grpc, periodSeconds: 5, failureThreshold: 2 },
    resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    volumeMounts: [
      { name: "data", mountPath: FILES.data },
      { name: "tls", mountPath: FILES.tls, readOnly: true },
      { name: "tmp", mountPath: "/tmp" },
    ],
  };
}

/** The manager's certificates; of its CA only the certificate. During a rotation there are two. */
function certificates() {
  const items = (...keys: string[]) => keys.map((key) => ({ key, path: key }));
  const name = MANAGER.certificateSecret;
  return {
    defaultMode: 0o440,
    sources: [
      { secret: { name, items: items("ca.crt", "tls.crt", "tls.key") } },
      { secret: { name, items: items("ca-next.crt"), optional: true } },
    ],
  };
}

function deployment(settings: Settings): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: labelled(settings.namespace),
    spec: {
      // The database belongs to one process.
      replicas: 1,
      revisionHistoryLimit: 3,
      strategy: { type: "Recreate" },
      selector: { matchLabels: { ...OWN_LABELS } },
      template: {
        metadata: { labels: { ...OWN_LABELS } },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 30,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: NONROOT,
            runAsGroup: NONROOT,
            fsGroup: NONROOT,
            seccompProfile: { type: "RuntimeDefault" },
          },
          containers: [container(settings)],
          volumes: [
            { name: "data", persistentVolumeClaim: { claimName: OBSERVATION_LOG } },
            { name: "tls", projected: certificates() },
            { name: "tmp", emptyDir: { sizeLimit: "64Mi" } },
          ],
        },
      },
    },
  };
}

/** The database holds 4 GiB at most, its journal comes on top. */
function claim({ namespace }: Settings): Manifest {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: labelled(namespace),
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "5Gi" } } },
  };
}

function service({ namespace }: Settings): Manifest {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: labelled(namespace),
    spec: {
      type: "ClusterIP",
      selector: { ...OWN_LABELS },
      ports: [{ name: "api", port: PORT, targetPort: "api", protocol: "TCP" }],
    },
  };
}

/**
 * Who may talk to it: the manager, which writes, and Katib's own parts, which read and delete over
 * plaintext: its controller and UI in their namespace, and Suggestions, which run beside Experiments.
 */
function networkPolicy({ namespace }: Settings): Manifest {
  const named = (name: string) => ({ matchLabels: { "kubernetes.io/metadata.name": name } });
  const oneOf = (key: string, ...values: string[]) => ({
    matchExpressions: [{ key, operator: "In", values }],
  });
  const has = (key: string) => ({ matchExpressions: [{ key, operator: "Exists" }] });
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: labelled(namespace),
    spec: {
      podSelector: { matchLabels: { ...OWN_LABELS } },
      policyTypes: ["Ingress", "Egress"],
      ingress: [{
        from: [
          { podSelector: { matchLabels: { ...SELECTOR } } },
          {
            namespaceSelector: named(KATIB_NAMESPACE),
            podSelector: oneOf("katib.kubeflow.org/component", "controller", "ui"),
          },
          { namespaceSelector: {}, podSelector: has("katib.kubeflow.org/suggestion") },
        ],
        ports: [{ protocol: "TCP", port: PORT }],
      }],
      egress: [],
    },
  };
}

/** Everything that the log is. */
export function observationLog(settings: Settings): Manifest[] {
  return [deployment(settings), claim(settings), service(settings), networkPolicy(settings)];
}

/** The patch by which the manager writes to it. */
export const observationLogPatch = (settings: Settings) =>
  argumentPatch(settings, `${flagOf("observationSink")}=grpc:${OBSERVATION_LOG}:${PORT}`);
