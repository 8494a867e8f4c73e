/** Defaults of a JobSet's spec, applied in memory only, whether or not a webhook set them. */
import type { JobSet, JobSetSpec, ReplicatedJob } from "../../crds/jobset.ts";
import type { JobTemplateSpec } from "../../platform/kube/kubernetes.ts";
import { restartsOneJob } from "./job_restarts.ts";

/** A part of a JobSet's spec with every default. */
type Resolved<Field extends "network" | "successPolicy" | "failurePolicy" | "coordinator"> =
  Required<NonNullable<JobSetSpec[Field]>>;

/** A replicated job with every default. */
export type ResolvedReplicatedJob = Required<
  Pick<ReplicatedJob, "name" | "groupName" | "replicas" | "template" | "dependsOn">
>;

/** A failure policy with every default. */
export type ResolvedFailurePolicy = Resolved<"failurePolicy">;

/** A claim that the JobSet makes for its pods. */
export type ResolvedVolumeClaim = ReturnType<typeof resolveVolumeClaims>[number];

/** A JobSet's spec with every default. */
export type ResolvedSpec = ReturnType<typeof resolveSpec>;

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

/** Returns the number of Jobs of replicated jobs together. */
export function replicasOf(jobs: readonly ResolvedReplicatedJob[]): number {
  return jobs.reduce((sum, { replicas }) => sum + replicas, 0);
}

/** Returns the claims of a JobSet of that name, in their order. */
export function resolveVolumeClaims(
  policies: JobSetSpec["volumeClaimPolicies"] = [],
  jobSet: string,
) {
  return policies.flatMap(({ templates, retentionPolicy }, policy) => {
    const policyPath = `spec.volumeClaimPolicies[${policy}]`;
    return templates.map((template, index) => ({
      /** Name of the claim: that of the template and of the JobSet. */
      claimName: `${template.metadata?.name}-${jobSet}`,
      /** Name of the template, which is that of the volume. */
      volumeName: template.metadata?.name ?? "",
      template,
      whenDeleted: retentionPolicy?.whenDeleted ?? "Delete",
      /** Where the template and its policy are in the JobSet. */
      path: `${policyPath}.templates[${index}]`,
      policyPath,
    }));
  });
}

/** Returns the spec with every default. The input is not changed. */
export function resolveSpec(jobSet: JobSet) {
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
    /** Whether a rule of the failure policy restarts single Jobs, which then have counters of their own. */
    restartsSingleJobs: (failurePolicy?.rules ?? []).some(({ action }) => restartsOneJob(action)),
    inOrder: spec.startupPolicy?.startupPolicyOrder === "InOrder",
    suspend: spec.suspend ?? false,
    ...(coordinator && {
      coordinator: {
        replicatedJob: coordinator.replicatedJob,
        jobIndex: coordinator.jobIndex ?? 0,
        podIndex: coordinator.podIndex ?? 0,
      },
    }),
    volumeClaims: resolveVolumeClaims(spec.volumeClaimPolicies, jobSet.metadata.name ?? ""),
    ttlSecondsAfterFinished: spec.ttlSecondsAfterFinished,
  };
}
