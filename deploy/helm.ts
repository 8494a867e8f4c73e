/**
 * Helm chart of the installation: the objects are built with placeholders for settings, which are
 * replaced by expressions of the template in the YAML.
 */
import { stringify } from "yaml";
import { flagOf } from "../app/configuration/setting_entries.ts";
import { VERSION } from "../app/version.ts";
import { KINDS } from "../crds/kinds.ts";
import {
  FEATURE_GATE_ALIASES,
  FEATURE_GATES,
  MANAGER,
  NOTIFICATIONS,
  OPTIMIZATION,
  POLICY_SECRETS,
  RESTARTS,
} from "../crds/names.ts";
import { V1_RUN_BY, V1_RUN_BY_ANNOTATION } from "../crds/v1/names.ts";
import { type Files, GENERATED, toYaml } from "./kustomize.ts";
import { NO_OPTIMIZATION_ARGUMENT, NOTIFICATIONS_ARGUMENT } from "./manager_manifests.ts";
import { type Parts, parts } from "./parts.ts";
import { DEFAULTS, type Manifest, type Settings } from "./installation_settings.ts";
import { VALUES_SCHEMA } from "./helm_values_schema.ts";

/** A setting's placeholder: characters that nothing else here uses, and that YAML leaves alone. */
const PLACEHOLDERS = {
  name: "⟦name⟧",
  namespace: "⟦namespace⟧",
  image: "⟦image⟧",
  imagePullPolicy: "⟦imagePullPolicy⟧",
  replicas: "⟦replicas⟧",
  jobset: "⟦jobset⟧",
  featureGates: "⟦featureGates⟧",
  logLevel: "⟦logLevel⟧",
  resources: "⟦resources⟧",
  apiServerPorts: "⟦apiServerPorts⟧",
  jobControllers: "['⟦jobControllers⟧']",
  jobSetControllers: "['⟦jobSetControllers⟧']",
  v1JobControllers: "['⟦v1JobControllers⟧']",
  trialControllers: "['⟦trialControllers⟧']",
  trialResource: "⟦trialResource⟧",
  // These may be empty.
  trialResources: "[⟦trialResources⟧]",
  trialResourceControllers: "[⟦trialResourceControllers⟧]",
  readWithApiTokens: "⟦readWithApiTokens⟧",
  optimizationJobs: "⟦optimizationJobs⟧",
  notifications: "⟦notifications⟧",
  notificationsSecretName: "⟦notificationsSecretName⟧",
  uiName: "⟦uiName⟧",
  uiReplicas: "⟦uiReplicas⟧",
  uiHosts: "⟦uiHosts⟧",
  uiTlsSecretName: "⟦uiTlsSecretName⟧",
  uiResources: "⟦uiResources⟧",
} as const satisfies Settings;

/** Who executes JobSets, if no value says it: the built-in executor comes with its CRD. */
const JOBSET = '.Values.jobset | default (ternary "auto" "external" .Values.crds.jobset)';

/** What stands in the template for a placeholder inside a line. */
const INLINE: Readonly<Record<string, string>> = {
  name: "{{ .Values.name }}",
  namespace: "{{ .Release.Namespace }}",
  // A tag that is given is another image than that of the digest.
  image:
    "{{ .Values.image.repository }}:{{ with .Values.image.tag }}{{ . }}{{ else }}{{ .Chart.AppVersion }}" +
    "{{ with .Values.image.digest }}@{{ . }}{{ end }}{{ end }}",
  imagePullPolicy: "{{ .Values.image.pullPolicy }}",
  replicas: "{{ .Values.replicas }}",
  jobset: `{{ ${JOBSET} }}`,
  featureGates: "{{ .Values.featureGates }}",
  logLevel: "{{ .Values.logLevel }}",
  jobControllers: `{{ join "', '" .Values.admissionPolicy.jobControllers }}`,
  jobSetControllers: `{{ join "', '" .Values.admissionPolicy.jobSetControllers }}`,
  v1JobControllers: `{{ join "', '" .Values.admissionPolicy.v1JobControllers }}`,
  trialControllers: `{{ join "', '" .Values.admissionPolicy.trialControllers }}`,
  trialResource: `{{ join "," .Values.trialResources }}`,
  trialResources: `{{ with .Values.trialResources }}'{{ join "', '" . }}'{{ end }}`,
  trialResourceControllers:
    `{{ with .Values.admissionPolicy.trialResourceControllers }}'{{ join "', '" . }}'{{ end }}`,
  readWithApiTokens: flagOf("readWithApiTokens"),
  optimizationJobs: NO_OPTIMIZATION_ARGUMENT,
  notifications: NOTIFICATIONS_ARGUMENT,
  notificationsSecretName: `{{ .Values.notifications | default "${NOTIFICATIONS.secret}" }}`,
  uiName: "{{ .Values.ui.name }}",
  uiReplicas: "{{ .Values.ui.replicas }}",
  uiHosts: `{{ join "," .Values.ui.hosts }}`,
  uiTlsSecretName: "{{ .Values.ui.tlsSecretName }}",
};

/** Returns what puts a value in as it is. */
function yamlOf(value: string): (indent: string) => string {
  return (indent) => `\n${indent}  {{- toYaml ${value} | nindent ${indent.length + 2} }}`;
}

/** What stands for a placeholder that is the whole value of a key, by the key's indentation. */
const BLOCKS: Readonly<Record<string, (indent: string) => string>> = {
  resources: yamlOf(".Values.resources"),
  uiResources: yamlOf(".Values.ui.resources"),
  apiServerPorts: (indent) =>
    [
      "",
      `${indent}  {{- range .Values.networkPolicy.apiServerPorts }}`,
      `${indent}  - protocol: TCP`,
      `${indent}    port: {{ . }}`,
      `${indent}  {{- end }}`,
    ].join("\n"),
};

/** Values without which the line of a placeholder is left out. */
const OPTIONAL: Readonly<Record<string, string>> = {
  trialResource: ".Values.trialResources",
  readWithApiTokens: ".Values.ui.enabled",
  optimizationJobs: `not .Values.${OPTIMIZATION.helmValue}`,
  notifications: ".Values.notifications",
  uiHosts: ".Values.ui.hosts",
};

/** YAML with placeholders → a template of Helm. */
function toTemplate(objects: readonly unknown[]): string {
  return toYaml(objects)
    .replaceAll("{{", '{{ "{{" }}')
    .replaceAll(/^( *)((?:- )?)([\w-]+:) ⟦(\w+)⟧$/gm, (line, indent, dash, key, name) => {
      const block = BLOCKS[name];
      return block ? `${indent}${dash}${key}${block(indent + " ".repeat(dash.length))}` : line;
    })
    .replaceAll(/^.*⟦(\w+)⟧.*$/gm, (line, name) => {
      const list = OPTIONAL[name];
      return list === undefined ? line : `{{- if ${list} }}\n${line}\n{{- end }}`;
    })
    .replaceAll(/⟦(\w+)⟧/g, (whole, name) => INLINE[name] ?? whole);
}

/** The Lease in the cluster; empty if there is none, or Helm only renders. */
const LEASE_FOUND = `(lookup "${KINDS.lease.group}/${KINDS.lease.version}" "${KINDS.lease.kind}" ` +
  `.Release.Namespace "${MANAGER.lease}")`;

const GATE = FEATURE_GATES.trainJobProgress;
const GATE_NAMES = [
  GATE,
  ...Object.keys(FEATURE_GATE_ALIASES).filter((it) => FEATURE_GATE_ALIASES[it] === GATE),
];
/** Whether the feature gate of progress is on. */
const HAS_PROGRESS = `(regexMatch "(^|,) *(${
  GATE_NAMES.join("|")
}) *= *true *(,|$)" .Values.featureGates)`;

/** Whether the built-in executor may run. */
const HAS_EXECUTOR = `ne (${JOBSET}) "external"`;

/** Conditions of parts, most of them values; the roles follow the settings that run their parts. */
const SWITCHES: Partial<Record<keyof Parts, string>> = {
  namespace: ".Values.createNamespace",
  trainer_crds: ".Values.crds.trainer",
  jobset_crd: ".Values.crds.jobset",
  // Helm refuses to take over an object that it did not create, such as a Lease by a manager.
  lease: `or (not ${LEASE_FOUND}) ` +
    `(dig "metadata" "annotations" "meta.helm.sh/release-name" "" ${LEASE_FOUND})`,
  policy_secrets_binding: `.Values.${POLICY_SECRETS.helmValue}`,
  restarts_binding: `.Values.${RESTARTS.helmValue}`,
  executor_role: HAS_EXECUTOR,
  volume_claims_role: HAS_EXECUTOR,
  progress_role: HAS_PROGRESS,
  trials_role: `and ${HAS_PROGRESS} (ne (toString .Values.katib) "false")`,
  optimization_jobs_role: `.Values.${OPTIMIZATION.helmValue}`,
  v1_jobs_role: "or .Values.v1Jobs .Values.crds.v1",
  v1_mpi_role: ".Values.v1Mpi",
  v1_elastic_role: ".Values.v1Elastic",
  v1_gangs_role: ".Values.v1Gangs",
  v1_crds: ".Values.crds.v1",
  network_policy: ".Values.networkPolicy.enabled",
  ui: ".Values.ui.enabled",
  ui_network_policy: "and .Values.ui.enabled .Values.networkPolicy.enabled",
  admission_policy: ".Values.admissionPolicy.enabled",
  monitoring: ".Values.monitoring.enabled",
};

/** A CRD outlives the release: with it every TrainJob would go. */
function kept(object: Manifest): Manifest {
  const annotations = { ...object.metadata.annotations, "helm.sh/resource-policy": "keep" };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

function templates(): Files {
  const all = parts(PLACEHOLDERS);
  const built = {
    ...all,
    trainer_crds: all.trainer_crds.map(kept),
    jobset_crd: all.jobset_crd.map(kept),
    v1_crds: all.v1_crds.map(kept),
  };
  const files = Object.entries(built).map(([part, objects]) => {
    const condition = Object.entries(SWITCHES).find(([name]) => name === part)?.[1];
    const text = toTemplate(objects);
    const body = condition === undefined ? text : `{{- if ${condition} }}\n${text}{{- end }}\n`;
    return [`templates/${part}.yaml`, GENERATED + body];
  });
  return Object.fromEntries(files);
}

/** `values.yaml`: each value with its purpose. */
function values({ image }: Settings): string {
  const [named = "", digest = ""] = image.split("@");
  const [repository = ""] = named.split(/:(?=[^/]*$)/);
  const yaml = (value: unknown) =>
    stringify(value, { lineWidth: 0 }).trimEnd().replaceAll("\n", "\n  ");
  return `${GENERATED}# Of Deployment, Service, ServiceAccount and the roles; the namespace is the release's.
name: ${DEFAULTS.name}
replicas: ${DEFAULTS.replicas}
image:
  repository: ${repository}
  # A text; the chart's appVersion where it is empty.
  tag: ""
  # That of a release's image; only without a tag, which names another one.
  digest: "${digest}"
  pullPolicy: ${DEFAULTS.imagePullPolicy}

# Who executes JobSets: auto (upstream's controller where it lives, else the built-in one), builtin, external.
# Empty: auto with crds.jobset, else external. The executor's rights are granted unless it is external.
jobset: ""
featureGates: ${DEFAULTS.featureGates}
logLevel: ${DEFAULTS.logLevel}
resources:
  ${yaml(DEFAULTS.resources)}

crds:
  # TrainJobs, runtimes and OptimizationJobs. They stay when the release is uninstalled.
  trainer: true
  # JobSets: true where upstream's JobSet does not live, false where it does.
  jobset: false
  # The Training Operator's kinds, with the annotation by which Milepost runs them: no other operator may run them.
  v1: false

# Whether the manager may run the Training Operator's kinds; with crds.v1 it always may. It runs those whose CRD has the
# annotation ${V1_RUN_BY_ANNOTATION}: ${V1_RUN_BY}.
v1Jobs: false
# Whether it may give the launchers of MPIJobs the right to run commands in their workers (pods/exec).
v1Mpi: false
# Whether it may make the autoscalers of elastic PyTorchJobs.
v1Elastic: false
# Whether it may make pod groups for their jobs, for the setting --gang-scheduler-name.
v1Gangs: false

# Whether the manager runs OptimizationJobs, and may make TrainJobs for them; false where another controller runs them.
${OPTIMIZATION.helmValue}: true

# Whether the manager may read Katib's Trials and write their status.
katib: true

# Kinds of other operators, such as Job.v1.batch, whose objects are jobs of Katib's Trials (--trial-resource). The manager's
# account needs a ClusterRole of yours: get, list, watch, patch and delete on each.
trialResources: []

# Secret that has ${NOTIFICATIONS.file}, and the files of URLs that it names: who is told when jobs end or stall
# (docs/guides/notifications.md). Empty: nobody.
notifications: ""

# Whether the manager may get and create Secrets in every namespace, for the keys of the policies mpi and flux. Without
# it their TrainJobs wait, except where a RoleBinding grants the ClusterRole <name>-${POLICY_SECRETS.role}.
${POLICY_SECRETS.helmValue}: true

# Whether the manager may list and delete Jobs in every namespace, which a restart of a TrainJob needs once one of its pods
# has succeeded. Without it such restarts wait, except where a RoleBinding grants the ClusterRole <name>-${RESTARTS.role}.
${RESTARTS.helmValue}: true

# Whether the chart makes the namespace, with Pod Security labels. Not together with --create-namespace.
createNamespace: false

# The page for browsers, as a Deployment of its own: viewers see what their tokens may see (docs/guides/page.md).
ui:
  enabled: false
  # Of Deployment, Service, ServiceAccount and role.
  name: ${DEFAULTS.uiName}
  replicas: ${DEFAULTS.uiReplicas}
  # Names by which browsers reach it, besides those of the Service and localhost.
  hosts: []
  # Secret of type kubernetes.io/tls with its certificate; while there is none the certificate is self-signed.
  tlsSecretName: ${DEFAULTS.uiTlsSecretName}
  resources:
    ${yaml(DEFAULTS.uiResources).replaceAll("\n", "\n  ")}

networkPolicy:
  enabled: true
  apiServerPorts: [${DEFAULTS.apiServerPorts.join(", ")}]

# Who may make pods belong to jobs, besides the manager. Needs an API server from 1.30 on.
admissionPolicy:
  enabled: true
  jobControllers:
    ${yaml(DEFAULTS.jobControllers).replaceAll("\n", "\n  ")}
  jobSetControllers:
    ${yaml(DEFAULTS.jobSetControllers).replaceAll("\n", "\n  ")}
  # Those that run kinds of kubeflow.org which Milepost does not run.
  v1JobControllers:
    ${yaml(DEFAULTS.v1JobControllers).replaceAll("\n", "\n  ")}
  # Those that make the jobs of Trials.
  trialControllers:
    ${yaml(DEFAULTS.trialControllers).replaceAll("\n", "\n  ")}
  # Those that make the pods of trialResources, unless these are made of Jobs or JobSets.
  trialResourceControllers: []

# ServiceMonitor, PrometheusRule and a dashboard; need the Prometheus operator and Grafana's sidecar.
monitoring:
  enabled: false
`;
}

/** All files of `deploy/helm/milepost/`. */
export function helmFiles(settings: Settings = DEFAULTS): Files {
  const chart = {
    apiVersion: "v2",
    name: "milepost",
    description: "Runs TrainJobs on Kubernetes, and shows how they are doing.",
    type: "application",
    version: VERSION,
    appVersion: VERSION,
    kubeVersion: ">=1.30.0-0",
  };
  return {
    "Chart.yaml": GENERATED + stringify(chart),
    "values.yaml": values(settings),
    "values.schema.json": `${JSON.stringify(VALUES_SCHEMA, null, 2)}\n`,
    ...templates(),
  };
}
