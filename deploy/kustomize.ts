/** The installation as kustomize takes it: a base, and overlays for the choices of a cluster. */
import { stringify } from "yaml";
import { variableOf } from "../app/configuration/setting_entries.ts";
import {
  MANAGER,
  NOTIFICATIONS,
  OPTIMIZATION,
  POLICY_SECRETS,
  RESTARTS,
  UI,
} from "../crds/names.ts";
import { V1_ELASTIC_PART, V1_GANGS_PART, V1_JOBS_PART, V1_MPI_PART } from "../crds/v1/names.ts";
import {
  argumentPatch,
  jobsetArgument,
  managerArguments,
  NO_OPTIMIZATION_ARGUMENT,
  NOTIFICATIONS_ARGUMENT,
} from "./manager_manifests.ts";
import { observationLog, observationLogPatch } from "./observation_log_manifests.ts";
import { uiManagerPatch } from "./ui_manifests.ts";
import { type Parts, parts } from "./parts.ts";
import { DEFAULTS, type Manifest, type Settings } from "./installation_settings.ts";

/** Files by their paths below a folder. */
export type Files = Readonly<Record<string, string>>;

/** First lines of every generated file. */
export const GENERATED = "# Made by `deno task manifests`; edit deploy/*.ts instead.\n";

/** Parts of every installation; the others are overlays. */
const BASE = [
  "namespace",
  "trainer_crds",
  "lease",
  "manager",
  "access",
  "policy_secrets_binding",
  "restarts_binding",
  "progress_role",
  "trials_role",
  "optimization_jobs_role",
  "network_policy",
  "public_configuration",
  "admission_policy",
] as const satisfies readonly (keyof Parts)[];

const EXECUTOR_COMPONENT = "components/jobset-executor";

/** Names of the overlay that shows how all names are changed. */
export const RENAMED = {
  name: "milepost",
  namespace: "training-system",
  image: "registry.example/training/milepost:1.2.3",
} as const;

/** Objects as one YAML stream. */
export function toYaml(objects: readonly unknown[]): string {
  return objects
    .map((it) => stringify(it, { aliasDuplicateObjects: false, lineWidth: 0 }))
    .join("---\n");
}

function kustomization(about: string, fields: Record<string, unknown>): string {
  const head = { apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization" };
  return `${GENERATED}# ${about}\n${toYaml([{ ...head, ...fields }])}`;
}

const deletion = ({ apiVersion, kind, metadata: { name } }: Manifest) => ({
  patch: stringify({ $patch: "delete", apiVersion, kind, metadata: { name } }),
});

/** A patch that gives one object of the base another name. */
const renaming = ({ kind, metadata: { name } }: Manifest) => ({
  target: { kind, name: `^${name}$` },
  patch: stringify([{
    op: "replace",
    path: "/metadata/name",
    value: name.replace(DEFAULTS.name, RENAMED.name),
  }]),
  options: { allowNameChange: true },
});

/** Puts the names of this installation where kustomize does not look for names. */
function replacements() {
  const account = { kind: "ServiceAccount", name: RENAMED.name };
  const into = (variable: string) =>
    [MANAGER.admissionPolicy, MANAGER.writesPolicy].map((name) => ({
      select: { kind: "ValidatingAdmissionPolicy", name },
      fieldPaths: [`spec.variables.[name=${variable}].expression`],
      options: { delimiter: "'", index: 1 },
    }));
  const serviceName = "spec.template.spec.containers.[name=manager].env." +
    `[name=${variableOf("serviceName")}].value`;
  return [
    {
      source: { ...account, fieldPath: "metadata.name" },
      targets: [
        ...into("managerAccount"),
        { select: { kind: "Deployment", name: RENAMED.name }, fieldPaths: [serviceName] },
      ],
    },
    {
      source: { ...account, fieldPath: "metadata.namespace" },
      targets: into("managerNamespace"),
    },
  ];
}

/** Kustomize does not know that these kinds have no namespace; what it set last is taken away last. */
const withoutNamespace = stringify({
  apiVersion: "builtin",
  kind: "PatchTransformer",
  metadata: { name: "admission-policies-have-no-namespace" },
  target: { group: "admissionregistration.k8s.io" },
  patch: stringify([{ op: "remove", path: "/metadata/namespace" }]),
});

function overlays(all: Parts, settings: Settings): Files {
  const base = "../../base";
  const named = BASE.flatMap((part) => all[part]).filter(({ metadata: { name } }) =>
    name.startsWith(DEFAULTS.name)
  );
  const [image = "", tag = ""] = RENAMED.image.split(/:(?=[^/]*$)/);
  const [defaultImage = ""] = settings.image.split(/:(?=[^/]*$)/);
  return {
    "overlays/standalone-jobset/kustomization.yaml": kustomization(
      "With the executor and the CRD of JobSets, for clusters in which upstream's JobSet does not live.",
      { resources: [base, "jobset_crd.yaml"], components: [`../../${EXECUTOR_COMPONENT}`] },
    ),
    "overlays/standalone-jobset/jobset_crd.yaml": GENERATED + toYaml(all.jobset_crd),
    "overlays/no-policy/kustomization.yaml": kustomization(
      "Without the admission policy, for API servers before 1.30. docs/guides/install.md says what that costs.",
      { resources: [base], patches: all.admission_policy.map(deletion) },
    ),
    "overlays/monitoring/kustomization.yaml": kustomization(
      "With ServiceMonitor, alerts and dashboard, for the Prometheus operator and Grafana.",
      { resources: [base, "monitoring.yaml"] },
    ),
    "overlays/monitoring/monitoring.yaml": GENERATED + toYaml(all.monitoring),
    "overlays/renamed/kustomization.yaml": kustomization(
      "An example: another namespace, another name, another image. Copy it and change the values.",
      {
        resources: [base],
        namespace: RENAMED.namespace,
        images: [{ name: defaultImage, newName: image, newTag: tag }],
        patches: named.map(renaming),
        replacements: replacements(),
        transformers: [withoutNamespace],
      },
    ),
  };
}

function component(about: string, fields: Record<string, unknown>): string {
  const head = { apiVersion: "kustomize.config.k8s.io/v1alpha1", kind: "Component" };
  return `${GENERATED}# ${about}\n${toYaml([{ ...head, ...fields }])}`;
}

/** The patch by which the manager executes JobSets itself where upstream's controller is absent. */
function executorPatch() {
  const path = `/spec/template/spec/containers/0/args/${
    managerArguments(DEFAULTS).findIndex((it) => it === jobsetArgument(DEFAULTS))
  }`;
  return {
    target: { kind: "Deployment", name: DEFAULTS.name },
    patch: stringify([
      { op: "test", path, value: jobsetArgument(DEFAULTS) },
      { op: "replace", path, value: jobsetArgument({ jobset: "auto" }) },
    ]),
  };
}

/** The Training Operator's kinds: the rights to run them, and their definitions, a file for each. */
function v1Components(all: Parts): Files {
  const [jobs, crds] = [`components/${V1_JOBS_PART}`, "components/v1-crds"];
  const definitions = all.v1_crds.map((crd) =>
    [`${crd.metadata.name}.yaml`, toYaml([crd])] as const
  );
  return {
    [`${jobs}/kustomization.yaml`]: component(
      "The rights to run the Training Operator's kinds, whoever made their definitions.",
      { resources: ["v1_jobs_role.yaml"] },
    ),
    [`${jobs}/v1_jobs_role.yaml`]: GENERATED + toYaml(all.v1_jobs_role),
    [`components/${V1_MPI_PART}/kustomization.yaml`]: component(
      "The rights to run MPIJobs: their launchers may run commands in their workers (pods/exec).",
      { resources: ["v1_mpi_role.yaml"] },
    ),
    [`components/${V1_MPI_PART}/v1_mpi_role.yaml`]: GENERATED + toYaml(all.v1_mpi_role),
    [`components/${V1_ELASTIC_PART}/kustomization.yaml`]: component(
      "The rights to make the autoscalers of elastic PyTorchJobs.",
      { resources: ["v1_elastic_role.yaml"] },
    ),
    [`components/${V1_ELASTIC_PART}/v1_elastic_role.yaml`]: GENERATED + toYaml(all.v1_elastic_role),
    [`components/${V1_GANGS_PART}/kustomization.yaml`]: component(
      "The rights to make pod groups for v1 jobs, for the setting --gang-scheduler-name.",
      { resources: ["v1_gangs_role.yaml"] },
    ),
    [`components/${V1_GANGS_PART}/v1_gangs_role.yaml`]: GENERATED + toYaml(all.v1_gangs_role),
    [`${crds}/kustomization.yaml`]: component(
      "Definitions of the Training Operator's kinds, which make Milepost run them: no other operator may.",
      { resources: definitions.map(([file]) => file) },
    ),
    ...Object.fromEntries(
      definitions.map(([file, text]) => [`${crds}/${file}`, GENERATED + text]),
    ),
  };
}

/** Files of the components that any overlay can use. */
function components(all: Parts, settings: Settings): Files {
  const log = "components/observation-log";
  const page = `components/${UI.component}`;
  return {
    [`${EXECUTOR_COMPONENT}/kustomization.yaml`]: component(
      "The built-in executor of JobSets, which rests where upstream's controller runs: its rights, and the setting.",
      { resources: ["executor_role.yaml", "volume_claims_role.yaml"], patches: [executorPatch()] },
    ),
    [`${EXECUTOR_COMPONENT}/executor_role.yaml`]: GENERATED + toYaml(all.executor_role),
    [`${EXECUTOR_COMPONENT}/volume_claims_role.yaml`]: GENERATED + toYaml(all.volume_claims_role),
    ...v1Components(all),
    [`components/no-${POLICY_SECRETS.role}/kustomization.yaml`]: component(
      "Without the right to Secrets in every namespace: TrainJobs of the policies mpi and flux wait for a RoleBinding.",
      { patches: all.policy_secrets_binding.map(deletion) },
    ),
    [`components/no-${RESTARTS.role}/kustomization.yaml`]: component(
      "Without the right to delete Jobs: restarts of TrainJobs of which a pod has succeeded wait for a RoleBinding.",
      { patches: all.restarts_binding.map(deletion) },
    ),
    [`components/no-${OPTIMIZATION.role}/kustomization.yaml`]: component(
      "For clusters in which another controller runs OptimizationJobs: the setting, and no rights to it.",
      {
        patches: [
          ...all.optimization_jobs_role.map(deletion),
          argumentPatch(settings, NO_OPTIMIZATION_ARGUMENT),
        ],
      },
    ),
    [`${log}/kustomization.yaml`]: component(
      "The log of observations as a service of its own, and the manager that writes to it.",
      { resources: ["observation_log.yaml"], patches: [observationLogPatch(settings)] },
    ),
    [`${log}/observation_log.yaml`]: GENERATED + toYaml(observationLog(settings)),
    [`components/${NOTIFICATIONS.component}/kustomization.yaml`]: component(
      `The manager tells the sinks of ${NOTIFICATIONS.file} in the Secret ${NOTIFICATIONS.secret}, which you make.`,
      { patches: [argumentPatch(settings, NOTIFICATIONS_ARGUMENT)] },
    ),
    [`${page}/kustomization.yaml`]: component(
      "The page for browsers as a Deployment of its own, and the manager that takes tokens of its viewers.",
      { resources: ["ui.yaml", "ui_network_policy.yaml"], patches: [uiManagerPatch(settings)] },
    ),
    [`${page}/ui.yaml`]: GENERATED + toYaml(all.ui),
    [`${page}/ui_network_policy.yaml`]: GENERATED + toYaml(all.ui_network_policy),
  };
}

/** All files of `deploy/kustomize/`. */
export function kustomizeFiles(settings: Settings = DEFAULTS): Files {
  const all = parts(settings);
  const base = BASE.map((part) => [`base/${part}.yaml`, GENERATED + toYaml(all[part])]);
  return {
    "base/kustomization.yaml": kustomization(
      "Milepost beside upstream's JobSet; overlays/standalone-jobset where that is not there.",
      { resources: BASE.map((part) => `${part}.yaml`) },
    ),
    ...Object.fromEntries(base),
    ...overlays(all, settings),
    ...components(all, settings),
  };
}
