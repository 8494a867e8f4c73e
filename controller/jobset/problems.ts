/** Validation of a new JobSet, by the rules of upstream's webhook. Pure. */
import type { FailurePolicyRule, JobSetSpec, ReplicatedJob } from "../../crds/jobset.ts";
import type { FieldProblem } from "../../crds/field_problem.ts";
import { dnsLabel1035, labelValue } from "../../crds/name_syntax.ts";
import { DNS_LABEL_MAX, MULTIKUEUE_CONTROLLER } from "../../crds/names.ts";
import { coordinatorEndpoint, jobName } from "./render.ts";
import { restartsOneJob } from "./job_restarts.ts";
import { type JobSetMetadata, unsupportedParts } from "./unsupported.ts";
import { volumeClaimProblems } from "./volume_claim_problems.ts";

const INT32_MAX = 2 ** 31 - 1;
/** Jobs of a replicated job whose restarts the status can count one by one. */
const MAX_COUNTED_REPLICAS = 1024;
/** Characters that the API server and the Job controller append to a name. */
const RANDOM_SUFFIX = "xxxxx";
/** Longest prefix that the API server keeps of generateName. */
const GENERATE_NAME_MAX = 58;
const DOMAIN_PREFIXED = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[A-Za-z0-9/\-._~%!$&'()*+,;=:@]+$/;
const RULE_NAME = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const JOB_FAILURE_REASONS = [
  "BackoffLimitExceeded",
  "DeadlineExceeded",
  "FailedIndexes",
  "MaxFailedIndexesExceeded",
  "PodFailurePolicy",
];

function isDns1035(value: string): boolean {
  return dnsLabel1035(value).length === 0;
}

/** Returns the name as the API server will generate it; undefined if it is not known. */
function expectedName({ name, generateName }: JobSetMetadata): string | undefined {
  if (name) return name;
  return generateName && `${generateName.slice(0, GENERATE_NAME_MAX)}${RANDOM_SUFFIX}`;
}

function completionModeOf(job: ReplicatedJob): string {
  return job.template.spec?.completionMode ?? "Indexed";
}

function nameProblems(job: ReplicatedJob, path: string, jobSet: string): FieldProblem[] {
  const last = jobName(jobSet, job.name, Math.max(0, (job.replicas ?? 1) - 1));
  const limit =
    `must be lower-case letters, digits and '-', begin with a letter and have at most ${DNS_LABEL_MAX} characters`;
  if (!isDns1035(last)) {
    return [{ field: `${path}.name`, message: `makes the Job name "${last}", which ${limit}` }];
  }
  const completions = job.template.spec?.completions;
  if (completionModeOf(job) !== "Indexed" || completions === undefined) return [];
  const pod = `${last}-${Math.max(0, completions - 1)}-${RANDOM_SUFFIX}`;
  return isDns1035(pod)
    ? []
    : [{ field: `${path}.name`, message: `makes pod names such as "${pod}", which ${limit}` }];
}

function dependencyProblems(jobs: readonly ReplicatedJob[], index: number): FieldProblem[] {
  const path = `spec.replicatedJobs[${index}].dependsOn`;
  const dependsOn = jobs[index]?.dependsOn;
  if (dependsOn === undefined) return [];
  if (index === 0) {
    return [{ field: path, message: "the first replicated job cannot depend on another" }];
  }
  return dependsOn.flatMap(({ name }, at) => {
    const place = jobs.findIndex((job) => job.name === name);
    return place >= 0 && place <= index ? [] : [{
      field: `${path}[${at}].name`,
      message: `"${name}" must be a replicated job earlier in the list`,
    }];
  });
}

function replicatedJobProblems(
  { replicatedJobs: jobs = [], failurePolicy }: JobSetSpec,
  index: number,
  jobSet: string | undefined,
): FieldProblem[] {
  const job = jobs[index];
  const restartsSingleJobs = failurePolicy?.rules?.some(({ action }) => restartsOneJob(action));
  if (job === undefined) return [];
  const path = `spec.replicatedJobs[${index}]`;
  const problems = dependencyProblems(jobs, index);
  const { replicas = 1, groupName = "default" } = job;
  if (jobs.findIndex(({ name }) => name === job.name) < index) {
    problems.push({ field: `${path}.name`, message: `"${job.name}" is listed twice` });
  }
  if (!Number.isInteger(replicas) || replicas < 0) {
    problems.push({ field: `${path}.replicas`, message: `must be at least 0, is ${replicas}` });
  }
  if ((job.template.spec?.parallelism ?? 1) * replicas > INT32_MAX) {
    const message = `times parallelism must be at most ${INT32_MAX}`;
    problems.push({ field: `${path}.replicas`, message });
  }
  if (replicas > MAX_COUNTED_REPLICAS && restartsSingleJobs) {
    const message =
      `must be at most ${MAX_COUNTED_REPLICAS} when a rule restarts single Jobs, is ${replicas}`;
    problems.push({ field: `${path}.replicas`, message });
  }
  if (!isDns1035(groupName)) {
    problems.push({ field: `${path}.groupName`, message: `"${groupName}" must be a DNS label` });
  }
  return jobSet === undefined ? problems : [...problems, ...nameProblems(job, path, jobSet)];
}

function targetProblems(
  targets: readonly string[] | undefined,
  path: string,
  names: ReadonlySet<string>,
): FieldProblem[] {
  return (targets ?? []).flatMap((name, index) =>
    names.has(name) ? [] : [{
      field: `${path}.targetReplicatedJobs[${index}]`,
      message: `"${name}" is not a replicated job of this JobSet`,
    }]
  );
}

function ruleProblems(rule: FailurePolicyRule, path: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (rule.name && (rule.name.length > 128 || !RULE_NAME.test(rule.name))) {
    problems.push({
      field: `${path}.name`,
      message:
        `"${rule.name}" must begin with a letter, contain letters, digits, '_', ',' and ':', end with a letter, digit or '_', and have at most 128 characters`,
    });
  }
  rule.onJobFailureReasons?.forEach((reason, index) => {
    if (JOB_FAILURE_REASONS.includes(reason)) return;
    problems.push({
      field: `${path}.onJobFailureReasons[${index}]`,
      message: `"${reason}" must be one of ${JOB_FAILURE_REASONS.join(", ")}`,
    });
  });
  return problems;
}

function policyProblems(spec: JobSetSpec, names: ReadonlySet<string>): FieldProblem[] {
  const rules = spec.failurePolicy?.rules ?? [];
  const ruleNames = rules.map(({ name }, index) => name || `failurePolicyRule${index}`);
  return [
    ...targetProblems(spec.successPolicy?.targetReplicatedJobs, "spec.successPolicy", names),
    ...rules.flatMap((rule, index) => {
      const path = `spec.failurePolicy.rules[${index}]`;
      const name = rule.name || `failurePolicyRule${index}`;
      const twice = ruleNames.indexOf(name) < index
        ? [{ field: `${path}.name`, message: `"${name}" is listed twice` }]
        : [];
      return [
        ...twice,
        ...ruleProblems(rule, path),
        ...targetProblems(rule.targetReplicatedJobs, path, names),
      ];
    }),
  ];
}

function coordinatorProblems(spec: JobSetSpec, jobSet: string | undefined): FieldProblem[] {
  if (spec.coordinator === undefined) return [];
  const path = "spec.coordinator";
  const { replicatedJob, jobIndex = 0, podIndex = 0 } = spec.coordinator;
  const job = spec.replicatedJobs?.find(({ name }) => name === replicatedJob);
  if (job === undefined) {
    const message = `"${replicatedJob}" is not a replicated job of this JobSet`;
    return [{ field: `${path}.replicatedJob`, message }];
  }
  const problems: FieldProblem[] = [];
  const replicas = job.replicas ?? 1;
  if (jobIndex < 0 || jobIndex >= replicas) {
    const message = `must be from 0 to ${replicas - 1}, is ${jobIndex}`;
    problems.push({ field: `${path}.jobIndex`, message });
  }
  const completions = job.template.spec?.completions;
  if (completionModeOf(job) !== "Indexed" || completions === undefined) {
    const message = `"${replicatedJob}" must be Indexed and set completions`;
    problems.push({ field: `${path}.replicatedJob`, message });
  } else if (podIndex < 0 || podIndex >= completions) {
    const message = `must be from 0 to ${completions - 1}, is ${podIndex}`;
    problems.push({ field: `${path}.podIndex`, message });
  }
  if (jobSet === undefined) return problems;
  const subdomain = spec.network?.subdomain || jobSet;
  const endpoint = coordinatorEndpoint(
    jobSet,
    { replicatedJob, jobIndex, podIndex },
    subdomain,
  );
  if (labelValue(endpoint).length > 0) {
    const message = `makes the address "${endpoint}", which must fit a label of ${DNS_LABEL_MAX}`;
    problems.push({ field: path, message });
  }
  return problems;
}

function fieldProblems(spec: JobSetSpec): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const { subdomain } = spec.network ?? {};
  if (subdomain && !isDns1035(subdomain)) {
    problems.push({
      field: "spec.network.subdomain",
      message: `"${subdomain}" must be a DNS label`,
    });
  }
  const { managedBy } = spec;
  if (managedBy && (managedBy.length > 63 || !DOMAIN_PREFIXED.test(managedBy))) {
    const message =
      `"${managedBy}" must be a domain and a path such as ${MULTIKUEUE_CONTROLLER}, at most 63 characters`;
    problems.push({ field: "spec.managedBy", message });
  }
  if (
    spec.startupPolicy?.startupPolicyOrder === "InOrder" &&
    spec.replicatedJobs?.some(({ dependsOn }) => dependsOn !== undefined)
  ) {
    const message = "StartupPolicy and DependsOn APIs are mutually exclusive";
    problems.push({ field: "spec.startupPolicy", message });
  }
  return problems;
}

/** Returns everything that is invalid in a JobSet; what is valid but not executed is not. */
export function invalidParts(spec: JobSetSpec, metadata: JobSetMetadata = {}): FieldProblem[] {
  const jobs = spec.replicatedJobs ?? [];
  const jobSet = expectedName(metadata);
  const names = new Set(jobs.map(({ name }) => name));
  return [
    ...jobs.flatMap((_, index) => replicatedJobProblems(spec, index, jobSet)),
    ...fieldProblems(spec),
    ...policyProblems(spec, names),
    ...coordinatorProblems(spec, jobSet),
    ...volumeClaimProblems(spec, jobSet),
  ];
}

/**
 * Returns everything for which a new JobSet must be refused: what is invalid, and what the built-in
 * executor does not execute. Without a name the lengths of names are not checked. An empty list means
 * that the JobSet can be executed.
 */
export function jobSetProblems(spec: JobSetSpec, metadata: JobSetMetadata = {}): FieldProblem[] {
  return [...invalidParts(spec, metadata), ...unsupportedParts(spec, metadata)];
}
