/** `milepost ui --in-cluster`: its account, Deployment, Service and network. The account changes nothing. */
import { flagOf, variableOf } from "../app/configuration/setting_entries.ts";
import type { JobKinds } from "../crds/job_kinds.ts";
import { KINDS } from "../crds/kinds.ts";
import { MANAGER, OBSERVATION_AUDIENCE, PORTS, UI } from "../crds/names.ts";
import { COMMON_LABELS, type Manifest, SELECTOR, type Settings } from "./installation_settings.ts";
import { argumentPatch, NONROOT } from "./manager_manifests.ts";

const OWN_LABELS = { ...SELECTOR, "app.kubernetes.io/component": UI.component };
const RBAC = "rbac.authorization.k8s.io";
/** Port of its Service. */
const SERVICE_PORT = 443;
/** Longest life of the token for the manager, which the kubelet renews; in seconds. */
const TOKEN_SECONDS = 3_600;
const STOP_SECONDS = { forget: 5, grace: 30 } as const;

const labelled = (name: string, namespace?: string): Manifest["metadata"] => ({
  name,
  ...(namespace !== undefined && { namespace }),
  labels: { ...COMMON_LABELS, ...OWN_LABELS },
});

function account({ uiName, namespace }: Settings): Manifest {
  return {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: labelled(uiName, namespace),
    automountServiceAccountToken: false,
  };
}

/** It reads jobs of all namespaces for the caches, and asks about those who look at them. */
export function uiRules({ all }: JobKinds) {
  const groups = [...Map.groupBy(all, ({ group }) => group)];
  return [
    ...groups.map(([group, kinds]) => ({
      apiGroups: [group],
      resources: kinds.map(({ plural }) => plural),
      verbs: ["get", "list", "watch"],
    })),
    ...[KINDS.tokenReview, KINDS.subjectAccessReview].map(({ group, plural }) => ({
      apiGroups: [group],
      resources: [plural],
      verbs: ["create"],
    })),
  ];
}

function role({ uiName: name, namespace }: Settings, kinds: JobKinds): Manifest[] {
  const apiVersion = `${RBAC}/v1`;
  return [
    { apiVersion, kind: "ClusterRole", metadata: labelled(name), rules: uiRules(kinds) },
    {
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata: labelled(name),
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
  ];
}

const probe = (path: string, periodSeconds: number, failureThreshold: number) => ({
  httpGet: { path, port: "health", scheme: "HTTP" },
  periodSeconds,
  timeoutSeconds: 3,
  failureThreshold,
});

const NAMESPACE = variableOf("managerNamespace", "ui");

function container(settings: Settings) {
  const { name, image, imagePullPolicy, logLevel, uiHosts, uiName, uiResources } = settings;
  return {
    name: "ui",
    image,
    imagePullPolicy,
    args: [
      "ui",
      flagOf("inCluster"),
      `${flagOf("uiPort")}=${PORTS.ui}`,
      `${flagOf("serviceName")}=${uiName}`,
      `${flagOf("managerUrl")}=https://${name}.$(${NAMESPACE}).svc:${PORTS.status}`,
      `${flagOf("tlsCert")}=${UI.tls}/tls.crt`,
      `${flagOf("tlsKey")}=${UI.tls}/tls.key`,
      ...(uiHosts === "" ? [] : [`${flagOf("uiHosts")}=${uiHosts}`]),
      `${flagOf("logLevel")}=${logLevel}`,
    ],
    env: [{
      name: NAMESPACE,
      valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } },
    }],
    ports: [
      { name: "https", containerPort: PORTS.ui, protocol: "TCP" },
      { name: "health", containerPort: PORTS.health, protocol: "TCP" },
    ],
    startupProbe: probe("/healthz", 2, 60),
    livenessProbe: probe("/healthz", 10, 6),
    readinessProbe: probe("/readyz", 5, 2),
    lifecycle: { preStop: { sleep: { seconds: STOP_SECONDS.forget } } },
    resources: uiResources,
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    volumeMounts: [
      { name: "manager-token", mountPath: folderOf(UI.managerToken), readOnly: true },
      { name: "manager-ca", mountPath: folderOf(UI.managerCa[0]), readOnly: true },
      { name: "tls", mountPath: UI.tls, readOnly: true },
      { name: "tmp", mountPath: "/tmp" },
    ],
  };
}

const folderOf = (file: string) => file.slice(0, file.lastIndexOf("/"));

function volumes({ uiTlsSecretName }: Settings) {
  const keys = UI.managerCa.map((file) => file.slice(file.lastIndexOf("/") + 1));
  return [
    {
      name: "manager-token",
      projected: {
        defaultMode: 0o440,
        sources: [{
          serviceAccountToken: {
            audience: OBSERVATION_AUDIENCE,
            expirationSeconds: TOKEN_SECONDS,
            path: UI.managerToken.slice(folderOf(UI.managerToken).length + 1),
          },
        }],
      },
    },
    {
      // Of the manager's CAs only the certificates; the manager makes the Secret at its first start.
      name: "manager-ca",
      projected: {
        defaultMode: 0o440,
        sources: keys.map((key) => ({
          secret: { name: MANAGER.certificateSecret, items: [{ key, path: key }], optional: true },
        })),
      },
    },
    // Without it the certificate is self-signed.
    { name: "tls", secret: { secretName: uiTlsSecretName, defaultMode: 0o440, optional: true } },
    { name: "tmp", emptyDir: { sizeLimit: "64Mi" } },
  ];
}

function deployment(settings: Settings): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: labelled(settings.uiName, settings.namespace),
    spec: {
      replicas: settings.uiReplicas,
      revisionHistoryLimit: 3,
      selector: { matchLabels: { ...OWN_LABELS } },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: {
          labels: { ...OWN_LABELS },
          annotations: { "kubectl.kubernetes.io/default-container": "ui" },
        },
        spec: {
          serviceAccountName: settings.uiName,
          automountServiceAccountToken: true,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: STOP_SECONDS.grace,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: NONROOT,
            runAsGroup: NONROOT,
            fsGroup: NONROOT,
            seccompProfile: { type: "RuntimeDefault" },
          },
          topologySpreadConstraints: [{
            maxSkew: 1,
            topologyKey: "kubernetes.io/hostname",
            whenUnsatisfiable: "ScheduleAnyway",
            labelSelector: { matchLabels: { ...OWN_LABELS } },
          }],
          containers: [container(settings)],
          volumes: volumes(settings),
        },
      },
    },
  };
}

function disruptionBudget({ uiName, namespace }: Settings): Manifest {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: labelled(uiName, namespace),
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: { ...OWN_LABELS } },
      unhealthyPodEvictionPolicy: "AlwaysAllow",
    },
  };
}

function service({ uiName, namespace }: Settings): Manifest {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: labelled(uiName, namespace),
    spec: {
      type: "ClusterIP",
      selector: { ...OWN_LABELS },
      ports: [{ name: "https", port: SERVICE_PORT, targetPort: "https", protocol: "TCP" }],
    },
  };
}

/** Everything but its network. */
export function ui(settings: Settings, kinds: JobKinds): Manifest[] {
  return [
    account(settings),
    ...role(settings, kinds),
    service(settings),
    deployment(settings),
    disruptionBudget(settings),
  ];
}

/** Browsers may come from anywhere, by whatever stands before it; it talks to the API server and the manager. */
export function uiNetworkPolicy({ uiName, namespace, apiServerPorts }: Settings): Manifest {
  const tcp = (...ports: (number | string)[]) => ports.map((port) => ({ protocol: "TCP", port }));
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: labelled(uiName, namespace),
    spec: {
      podSelector: { matchLabels: { ...OWN_LABELS } },
      policyTypes: ["Ingress", "Egress"],
      ingress: [{ ports: tcp(PORTS.ui, PORTS.health) }],
      egress: [
        { ports: [{ protocol: "UDP", port: 53 }, ...tcp(53)] },
        { ports: Array.isArray(apiServerPorts) ? tcp(...apiServerPorts) : apiServerPorts },
        { to: [{ podSelector: { matchLabels: { ...SELECTOR } } }], ports: tcp(PORTS.status) },
      ],
    },
  };
}

/** The patch by which the manager lets viewers stop jobs with their own tokens. */
export const uiManagerPatch = (settings: Pick<Settings, "name">) =>
  argumentPatch(settings, flagOf("readWithApiTokens"));
