/** The manager in a cluster: namespace, account, Deployment, its budget, Service and network. */
import { stringify } from "yaml";
import { KATIB } from "../crds/katib_names.ts";
import { MANAGER, NOTIFICATIONS, PORTS, STATUS_PORT_NAME } from "../crds/names.ts";
import { KINDS } from "../crds/kinds.ts";
import { flagOf, variableOf } from "../app/configuration/setting_entries.ts";
import { labelled, type Manifest, SELECTOR, type Settings } from "./installation_settings.ts";

/** User and group of the image's unprivileged user. */
export const NONROOT = 65532;
/** Longest time between SIGTERM and the end: Endpoints forget the pod, then it drains (10 s). */
const STOP_SECONDS = { forget: 5, grace: 30 } as const;

/** The namespace; only pods that need no privilege start in it. */
export function namespace({ namespace: name }: Settings): Manifest {
  const metadata = labelled(name);
  const levels = ["enforce", "audit", "warn"].map((it) => [
    `pod-security.kubernetes.io/${it}`,
    "restricted",
  ]);
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { ...metadata, labels: { ...metadata.labels, ...Object.fromEntries(levels) } },
  };
}

/** ServiceAccount of the manager; its token is mounted only in pods that ask for it. */
export function serviceAccount({ name, namespace }: Settings): Manifest {
  return {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: labelled(name, namespace),
    automountServiceAccountToken: false,
  };
}

const fromField = (name: string, fieldPath: string) => ({
  name,
  valueFrom: { fieldRef: { apiVersion: "v1", fieldPath } },
});

function probe(path: string, periodSeconds: number, failureThreshold: number) {
  return {
    httpGet: { path, port: "health", scheme: "HTTP" },
    periodSeconds,
    timeoutSeconds: 3,
    failureThreshold,
  };
}

/** The argument that says who executes JobSets. */
export function jobsetArgument({ jobset }: Pick<Settings, "jobset">): string {
  return `${flagOf("jobset")}=${jobset}`;
}

/** The argument by which OptimizationJobs are another controller's. */
export const NO_OPTIMIZATION_ARGUMENT = `${flagOf("optimizationJobs")}=false`;

/** The argument that names the file of sinks. */
export const NOTIFICATIONS_ARGUMENT = `${
  flagOf("notifications")
}=${NOTIFICATIONS.folder}/${NOTIFICATIONS.file}`;

/** Arguments of the manager's container. */
export function managerArguments(settings: Settings): string[] {
  return [
    "manager",
    `${flagOf("featureGates")}=${settings.featureGates}`,
    jobsetArgument(settings),
    ...(settings.trialResource === ""
      ? []
      : [`${flagOf("trialResource")}=${settings.trialResource}`]),
    `${flagOf("logLevel")}=${settings.logLevel}`,
    ...[settings.readWithApiTokens, settings.optimizationJobs, settings.notifications]
      .filter((it) => it !== ""),
  ];
}

/** A patch of kustomize that gives the manager one more argument. */
export function argumentPatch({ name }: Pick<Settings, "name">, value: string) {
  const path = "/spec/template/spec/containers/0/args/-";
  return {
    target: { kind: "Deployment", name },
    patch: stringify([{ op: "add", path, value }]),
  };
}

function container(settings: Settings) {
  return {
    name: "manager",
    image: settings.image,
    imagePullPolicy: settings.imagePullPolicy,
    args: managerArguments(settings),
    env: [
      fromField(variableOf("namespace"), "metadata.namespace"),
      { name: variableOf("serviceName"), value: settings.name },
      // Who it is in the Lease, and where other replicas forward pushes to.
      fromField("POD_NAME", "metadata.name"),
      fromField("POD_UID", "metadata.uid"),
      fromField("POD_IP", "status.podIP"),
    ],
    ports: [
      { name: "webhook", containerPort: PORTS.webhook, protocol: "TCP" },
      { name: "status", containerPort: PORTS.status, protocol: "TCP" },
      { name: "metrics", containerPort: PORTS.metrics, protocol: "TCP" },
      { name: "health", containerPort: PORTS.health, protocol: "TCP" },
      { name: "forward", containerPort: PORTS.forward, protocol: "TCP" },
    ],
    startupProbe: probe("/healthz", 2, 60),
    livenessProbe: probe("/healthz", 10, 6),
    readinessProbe: probe("/readyz", 5, 2),
    lifecycle: { preStop: { sleep: { seconds: STOP_SECONDS.forget } } },
    resources: settings.resources,
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    // The runtime keeps compiled code there, and nothing else.
    volumeMounts: [
      { name: "tmp", mountPath: "/tmp" },
      { name: NOTIFICATIONS.component, mountPath: NOTIFICATIONS.folder, readOnly: true },
    ],
  };
}

/** The replicas: each serves webhook and status endpoint, the one that holds the Lease reconciles. */
export function deployment(settings: Settings): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: labelled(settings.name, settings.namespace),
    spec: {
      replicas: settings.replicas,
      revisionHistoryLimit: 3,
      selector: { matchLabels: { ...SELECTOR } },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: {
          labels: { ...SELECTOR },
          annotations: { "kubectl.kubernetes.io/default-container": "manager" },
        },
        spec: {
          serviceAccountName: settings.name,
          automountServiceAccountToken: true,
          // A Service's variables could read like settings of the manager.
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
            labelSelector: { matchLabels: { ...SELECTOR } },
          }],
          containers: [container(settings)],
          volumes: [
            { name: "tmp", emptyDir: { sizeLimit: "64Mi" } },
            {
              name: NOTIFICATIONS.component,
              secret: {
                secretName: settings.notificationsSecretName,
                defaultMode: 0o440,
                optional: true,
              },
            },
          ],
        },
      },
    },
  };
}

/**
 * The Lease of the leader, without a holder, so that the first replica leads at once
 * (docs/decisions/0014). It has no spec, so an upgrade does not change who leads.
 */
export function lease({ namespace }: Settings): Manifest {
  const { group, version, kind } = KINDS.lease;
  return {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: labelled(MANAGER.lease, namespace),
  };
}

/** Nodes are drained one replica at a time. */
export function disruptionBudget({ name, namespace }: Settings): Manifest {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: labelled(name, namespace),
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: { ...SELECTOR } },
      unhealthyPodEvictionPolicy: "AlwaysAllow",
    },
  };
}

/** The Service by which API server, pods and Prometheus find the manager (docs/decisions/0033). */
export function service({ name, namespace }: Settings): Manifest {
  const port = (name: string, number: number, targetPort: string) => ({
    name,
    port: number,
    targetPort,
    protocol: "TCP",
  });
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: labelled(name, namespace),
    spec: {
      type: "ClusterIP",
      selector: { ...SELECTOR },
      ports: [
        port("webhook", PORTS.webhookService, "webhook"),
        port(STATUS_PORT_NAME, PORTS.status, "status"),
        port("status-alias", PORTS.statusAlias, "status"),
        port("metrics", PORTS.metrics, "metrics"),
      ],
    },
  };
}

/**
 * Who may talk to it, and to whom it talks. The API server is no pod, so that it cannot be selected;
 * the webhook's port is open, and what is behind it asks for TLS and answers reviews only.
 */
export function networkPolicy({ name, namespace, apiServerPorts }: Settings): Manifest {
  const tcp = (...ports: (number | string)[]) => ports.map((port) => ({ protocol: "TCP", port }));
  const everyPod = [{ namespaceSelector: {} }];
  const replicas = [{ podSelector: { matchLabels: { ...SELECTOR } } }];
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: labelled(name, namespace),
    spec: {
      podSelector: { matchLabels: { ...SELECTOR } },
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        { ports: tcp(PORTS.webhook, PORTS.health) },
        { from: everyPod, ports: tcp(PORTS.status, PORTS.metrics) },
        { from: replicas, ports: tcp(PORTS.forward) },
      ],
      egress: [
        { ports: [{ protocol: "UDP", port: 53 }, ...tcp(53)] },
        { ports: Array.isArray(apiServerPorts) ? tcp(...apiServerPorts) : apiServerPorts },
        { to: replicas, ports: tcp(PORTS.forward) },
        // Katib's DB manager, or `milepost observation-log` in its place.
        { to: everyPod, ports: tcp(KATIB.dbManagerPort) },
      ],
    },
  };
}
