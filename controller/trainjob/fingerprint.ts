/** Fingerprint of the immutable part of a JobSet's spec. Pure. */
import { createHash } from "node:crypto";
import type { JobSetSpec, ReplicatedJob } from "../../crds/jobset.ts";

/** Characters of a fingerprint: 64 bits in hexadecimal. */
const LENGTH = 16;

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
}

/** The job without the five fields that may change while its JobSet is suspended. */
function frozenJob(job: ReplicatedJob): unknown {
  const template = job.template.spec?.template;
  if (!template) return job;
  const { labels: _labels, annotations: _annotations, ...metadata } = template.metadata ?? {};
  const {
    nodeSelector: _nodeSelector,
    tolerations: _tolerations,
    schedulingGates: _schedulingGates,
    ...spec
  } = template.spec ?? {};
  const jobSpec = { ...job.template.spec, template: { metadata, spec } };
  return { ...job, template: { ...job.template, spec: jobSpec } };
}

/** Returns the part of a JobSet's spec that is immutable. */
export function frozenPart(spec: JobSetSpec): unknown {
  const { replicatedJobs, managedBy, network, successPolicy, failurePolicy } = spec;
  const { startupPolicy, volumeClaimPolicies } = spec;
  return {
    replicatedJobs: replicatedJobs?.map(frozenJob),
    managedBy,
    network,
    successPolicy,
    failurePolicy,
    startupPolicy,
    volumeClaimPolicies,
  };
}

/** Returns the fingerprint of the immutable part, whatever the order of its keys. */
export function fingerprint(spec: JobSetSpec): string {
  const text = JSON.stringify(frozenPart(spec), sorted);
  return createHash("sha256").update(text).digest("hex").slice(0, LENGTH);
}
