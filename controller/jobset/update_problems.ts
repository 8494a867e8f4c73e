/** What may not change in a JobSet that is there (contract jobset.md 1.4): pure. */
import { isDeepStrictEqual } from "node:util";
import type { JobSetSpec, ReplicatedJob } from "../../crds/jobset.ts";
import type { JobTemplateSpec } from "../../crds/kubernetes.ts";
import type { Problem } from "./unsupported.ts";

/** Fields that can be added or dropped, but not changed. */
const IMMUTABLE = [
  "network",
  "successPolicy",
  "failurePolicy",
  "startupPolicy",
  "volumeClaimPolicies",
] as const;

/** Without undefined fields, as it is on the wire. */
function wire(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function same(before: unknown, after: unknown): boolean {
  return isDeepStrictEqual(wire(before), wire(after));
}

/** The template without the five fields that may change while a JobSet is suspended. */
function masked(template: JobTemplateSpec): JobTemplateSpec {
  if (template.spec === undefined) return template;
  const { metadata, spec: podSpec, ...rest } = template.spec.template;
  const { labels: _l, annotations: _a, ...otherMetadata } = metadata ?? {};
  return {
    ...template,
    spec: {
      ...template.spec,
      template: {
        ...rest,
        metadata: otherMetadata,
        ...(podSpec && {
          spec: {
            ...podSpec,
            nodeSelector: undefined,
            tolerations: undefined,
            schedulingGates: undefined,
          },
        }),
      },
    },
  };
}

function replicatedJobChanges(
  before: readonly ReplicatedJob[],
  after: readonly ReplicatedJob[],
  suspended: boolean,
): Problem[] {
  const path = "spec.replicatedJobs";
  if (!same(before.map(({ name }) => name), after.map(({ name }) => name))) {
    const message = "replicated jobs cannot be added, removed, renamed or reordered";
    return [{ path, message: `field is immutable: ${message}` }];
  }
  return after.flatMap((job, index) => {
    const old = before[index];
    if (old === undefined) return [];
    const unchanged = suspended
      ? same({ ...old, template: masked(old.template) }, { ...job, template: masked(job.template) })
      : same(old, job);
    const message = suspended
      ? "field is immutable, except the pod template's labels, annotations, nodeSelector, tolerations and schedulingGates"
      : "field is immutable; suspend the JobSet to change the pod template's labels, annotations, nodeSelector, tolerations or schedulingGates";
    return unchanged ? [] : [{ path: `${path}[${index}]`, message }];
  });
}

/** Why the change from `before` to `after` must be refused; empty where it may be made. */
export function jobSetUpdateProblems(before: JobSetSpec, after: JobSetSpec): Problem[] {
  const suspended = before.suspend === true || after.suspend === true;
  const immutable = IMMUTABLE.flatMap((field) =>
    before[field] === undefined || after[field] === undefined ||
      same(before[field], after[field])
      ? []
      : [{ path: `spec.${field}`, message: "Value is immutable" }]
  );
  const managedBy = same(before.managedBy, after.managedBy)
    ? []
    : [{ path: "spec.managedBy", message: "field is immutable" }];
  return [
    ...managedBy,
    ...replicatedJobChanges(before.replicatedJobs ?? [], after.replicatedJobs ?? [], suspended),
    ...immutable,
  ];
}
