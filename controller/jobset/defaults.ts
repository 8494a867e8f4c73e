/** Defaults of a JobSet's spec, applied in memory only, whether or not a webhook set them. */
import type { FailurePolicyRule, JobSet, JobSetSpec, ReplicatedJob } from "../../crds/jobset.ts";
import type { JobTemplateSpec } from "../../crds/kubernetes.ts";

/** A replicated job with every default. */
export interface ResolvedReplicatedJob {
  readonly name: string;
  readonly groupName: string;
  readonly replicas: number;
  readonly template: JobTemplateSpec;
  readonly dependsOn: readonly { readonly name: string; readonly status: "Ready" | "Complete" }[];
}

/** A failure policy with every default. */
export interface ResolvedFailurePolicy {
  readonly maxRestarts: number;
  readonly restartStrategy: "Recreate" | "BlockingRecreate" | "InPlaceRestart";
  readonly rules: readonly FailurePolicyRule[];
}

/** A JobSet's spec with every default. */
export interface ResolvedSpec {
  readonly replicatedJobs: readonly ResolvedReplicatedJob[];
  readonly network: {
    readonly enableDNSHostnames: boolean;
    readonly subdomain: string;
    readonly publishNotReadyAddresses: boolean;
  };
  readonly successPolicy: {
    readonly operator: "All" | "Any";
    readonly targetReplicatedJobs: readonly string[];
  };
  readonly failurePolicy?: ResolvedFailurePolicy;
  readonly inOrder: boolean;
  readonly suspend: boolean;
  readonly coordinator?: {
    readonly replicatedJob: string;
    readonly jobIndex: number;
    readonly podIndex: number;
  };
  readonly ttlSecondsAfterFinished?: number;
}

function resolveTemplate(template: JobTemplateSpec): JobTemplateSpec {
  const spec = template.spec;
  if (spec === undefined) return template;
  const podSpec = spec.template.spec;
  return {
    ...template,
    spec: {
      ...spec,
      completionMode: spec.completionMode ?? "Indexed",
      template: {
        ...spec.template,
        ...(podSpec && {
          spec: { ...podSpec, restartPolicy: podSpec.restartPolicy || "OnFailure" },
        }),
      },
    },
  };
}

function resolveReplicatedJob(job: ReplicatedJob): ResolvedReplicatedJob {
  return {
    name: job.name,
    groupName: job.groupName || "default",
    replicas: job.replicas ?? 1,
    template: resolveTemplate(job.template),
    dependsOn: job.dependsOn ?? [],
  };
}

function resolveFailurePolicy(
  policy: NonNullable<JobSetSpec["failurePolicy"]>,
): ResolvedFailurePolicy {
  return {
    maxRestarts: policy.maxRestarts ?? 0,
    restartStrategy: policy.restartStrategy ?? "Recreate",
    rules: (policy.rules ?? []).map((rule, index) => ({
      ...rule,
      name: rule.name || `failurePolicyRule${index}`,
    })),
  };
}

/** Returns the spec with every default. The input is not changed. */
export function resolveSpec(jobSet: JobSet): ResolvedSpec {
  const spec: JobSetSpec = jobSet.spec ?? {};
  const { failurePolicy, coordinator, network, successPolicy } = spec;
  return {
    replicatedJobs: (spec.replicatedJobs ?? []).map(resolveReplicatedJob),
    network: {
      enableDNSHostnames: network?.enableDNSHostnames ?? true,
      subdomain: network?.subdomain || (jobSet.metadata.name ?? ""),
      publishNotReadyAddresses: network?.publishNotReadyAddresses ?? true,
    },
    successPolicy: {
      operator: successPolicy?.operator ?? "All",
      targetReplicatedJobs: successPolicy?.targetReplicatedJobs ?? [],
    },
    ...(failurePolicy && { failurePolicy: resolveFailurePolicy(failurePolicy) }),
    inOrder: spec.startupPolicy?.startupPolicyOrder === "InOrder",
    suspend: spec.suspend ?? false,
    ...(coordinator && {
      coordinator: {
        replicatedJob: coordinator.replicatedJob,
        jobIndex: coordinator.jobIndex ?? 0,
        podIndex: coordinator.podIndex ?? 0,
      },
    }),
    ttlSecondsAfterFinished: spec.ttlSecondsAfterFinished,
  };
}
