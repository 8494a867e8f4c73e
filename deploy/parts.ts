/** An installation by its parts, each of which can be left out or added as a whole. */
import { crdManifests, type CustomResourceDefinition } from "../crds/manifests.ts";
import { v1CrdManifests } from "../crds/v1/manifests.ts";
import { V1_ELASTIC_PART, V1_GANGS_PART, V1_JOBS_PART, V1_MPI_PART } from "../crds/v1/names.ts";
import { JOB_KINDS, type JobKinds } from "../crds/job_kinds.ts";
import { VOLUME_CLAIMS_PART } from "../crds/jobset_names.ts";
import { KINDS } from "../crds/kinds.ts";
import { OPTIMIZATION, POLICY_SECRETS, RESTARTS } from "../crds/names.ts";
import { managerRoles, partRoles, publicConfiguration, userRoles, v1UserRoles } from "./roles.ts";
import { ownershipPolicy } from "./ownership_policy.ts";
import {
  deployment,
  disruptionBudget,
  lease,
  namespace,
  networkPolicy,
  service,
  serviceAccount,
} from "./manager_manifests.ts";
import { dashboardConfigMap, prometheusRule, serviceMonitor } from "./monitoring.ts";
import { managerWritesPolicy } from "./manager_writes_policy.ts";
import { ui, uiNetworkPolicy } from "./ui_manifests.ts";
import { COMMON_LABELS, type Manifest, type Settings } from "./installation_settings.ts";

/** The parts in the order in which they are applied. */
export interface Parts {
  readonly namespace: readonly Manifest[];
  /** TrainJobs, runtimes and OptimizationJobs. */
  readonly trainer_crds: readonly Manifest[];
  /** JobSets, for clusters in which upstream's JobSet does not live. */
  readonly jobset_crd: readonly Manifest[];
  /** The Lease of the leader. */
  readonly lease: readonly Manifest[];
  readonly manager: readonly Manifest[];
  readonly access: readonly Manifest[];
  /** Grants the role for the Secrets of policies, which can be bound in single namespaces instead. */
  readonly policy_secrets_binding: readonly Manifest[];
  /** Grants the role for Jobs that restarts make anew, likewise. */
  readonly restarts_binding: readonly Manifest[];
  /** Rights of the parts of the manager that do not always run (`app/manager/rights.ts`). */
  readonly executor_role: readonly Manifest[];
  readonly volume_claims_role: readonly Manifest[];
  readonly progress_role: readonly Manifest[];
  readonly trials_role: readonly Manifest[];
  readonly optimization_jobs_role: readonly Manifest[];
  /** Rights to run the Training Operator's kinds, and those of users over their jobs. */
  readonly v1_jobs_role: readonly Manifest[];
  /** The right to let launchers of MPIJobs run commands in their workers. */
  readonly v1_mpi_role: readonly Manifest[];
  /** The right to make the autoscalers of elastic PyTorchJobs. */
  readonly v1_elastic_role: readonly Manifest[];
  /** The right to make pod groups for them. */
  readonly v1_gangs_role: readonly Manifest[];
  /** Their definitions, with the annotation by which Milepost runs them. */
  readonly v1_crds: readonly Manifest[];
  readonly network_policy: readonly Manifest[];
  /** The page for browsers, with an account that changes nothing. */
  readonly ui: readonly Manifest[];
  readonly ui_network_policy: readonly Manifest[];
  readonly public_configuration: readonly Manifest[];
  readonly admission_policy: readonly Manifest[];
  /** For the Prometheus operator and Grafana. */
  readonly monitoring: readonly Manifest[];
}

function definitions(crds: readonly CustomResourceDefinition[]): Manifest[] {
  return crds.map((crd) => ({
    ...crd,
    metadata: { ...crd.metadata, labels: { ...COMMON_LABELS } },
  }));
}

/** Every object of an installation. */
export function parts(settings: Settings, kinds: JobKinds = JOB_KINDS): Parts {
  const crds = definitions(crdManifests());
  const policySecrets = partRoles(POLICY_SECRETS.role, settings, { kinds });
  const restarts = partRoles(RESTARTS.role, settings, { kinds });
  const isBinding = ({ kind }: Manifest) => kind === "ClusterRoleBinding";
  const isJobSet = ({ metadata: { name } }: Manifest) => name.startsWith(KINDS.jobSet.plural);
  return {
    namespace: [namespace(settings)],
    trainer_crds: crds.filter((it) => !isJobSet(it)),
    jobset_crd: crds.filter(isJobSet),
    lease: [lease(settings)],
    manager: [
      serviceAccount(settings),
      service(settings),
      deployment(settings),
      disruptionBudget(settings),
    ],
    access: [
      ...managerRoles(settings, { kinds }),
      ...[...policySecrets, ...restarts].filter((it) => !isBinding(it)),
      ...userRoles(settings, kinds),
    ],
    policy_secrets_binding: policySecrets.filter(isBinding),
    restarts_binding: restarts.filter(isBinding),
    executor_role: partRoles("executor", settings, { kinds }),
    volume_claims_role: partRoles(VOLUME_CLAIMS_PART, settings, { kinds }),
    progress_role: partRoles("progress", settings, { kinds }),
    trials_role: partRoles("trials", settings, { kinds }),
    optimization_jobs_role: partRoles(OPTIMIZATION.role, settings, { kinds }),
    v1_jobs_role: [
      ...partRoles(V1_JOBS_PART, settings, { kinds }),
      ...v1UserRoles(settings),
    ],
    v1_mpi_role: partRoles(V1_MPI_PART, settings, { kinds }),
    v1_elastic_role: partRoles(V1_ELASTIC_PART, settings, { kinds }),
    v1_gangs_role: partRoles(V1_GANGS_PART, settings, { kinds }),
    v1_crds: definitions(v1CrdManifests()),
    network_policy: [networkPolicy(settings)],
    ui: ui(settings, kinds),
    ui_network_policy: [uiNetworkPolicy(settings)],
    public_configuration: publicConfiguration(settings),
    admission_policy: [
      ...ownershipPolicy(settings, kinds),
      ...managerWritesPolicy(settings, kinds),
    ],
    monitoring: [
      serviceMonitor(settings),
      prometheusRule(settings),
      dashboardConfigMap(settings),
    ],
  };
}
