/** Validation of v1 jobs, in the words of the operator's webhooks (training-operator v1.9: pkg/webhooks). Pure. */
import { causeOf, type FieldProblem } from "../../crds/field_problem.ts";
import { forbidden, invalid, required, unsupported } from "../../crds/field_problem.ts";
import { runOf } from "./defaults.ts";
import { KIND_RULES } from "./rules_by_kind.ts";
import { sizeProblems } from "./size.ts";
import { DEFAULT_V1_SETTINGS, type V1Settings } from "./v1_settings.ts";
import { causesText } from "../../crds/status_cause.ts";
import { MULTIKUEUE_CONTROLLER } from "../../crds/names.ts";
import { dnsLabel1035 } from "../../crds/name_syntax.ts";
import { type ReplicaSpec, replicaSpecsOf, type RunPolicy, type V1Job } from "../../crds/v1/job.ts";
import { replicaTypeNamed, type V1Kind, type V1KindName } from "../../crds/v1/kinds.ts";
import {
  CLEAN_POD_POLICIES,
  MX_JOB_MODES,
  RESTART_POLICIES,
  SUCCESS_POLICIES,
  V1_CONTROLLER,
} from "../../crds/v1/names.ts";

/** What a kind asks of the replica types of its jobs. */
interface TypeRules {
  /** Whether other types than the kind's are admitted. */
  readonly admitsOthers?: boolean;
  /** The type that there has to be. */
  readonly needs?: string;
  /** The type of which there is one replica, if there is any. */
  readonly single?: string;
  /** Whether every other type has at least one replica. */
  readonly atLeastOne?: boolean;
  /** How the container that trains is named in a refusal; undefined: it may have any name. */
  readonly containerText?: string;
}

const TYPE_RULES: Readonly<Record<V1KindName, TypeRules>> = {
  TFJob: { admitsOthers: true, containerText: "tensorflow" },
  PyTorchJob: { single: "Master", atLeastOne: true, containerText: "pytorch" },
  XGBoostJob: { needs: "Master", single: "Master", containerText: "xgboost" },
  MXJob: { admitsOthers: true, containerText: "mxnet" },
  MPIJob: { needs: "Launcher", single: "Launcher" },
  PaddleJob: { containerText: '"paddle"' },
  JAXJob: { containerText: "jax" },
};

const MANAGED_BY = "spec.runPolicy.managedBy";
/** The elastic policy's field, and the one that replaces it. */
const PROCESSES = { former: "spec.elasticPolicy.nProcPerNode", now: "spec.nprocPerNode" } as const;

/** Returns the problem of a value that is none of those; the empty one means the default. */
function choiceProblems(
  field: string,
  value: string | undefined,
  supported: readonly string[],
): FieldProblem[] {
  if (!value || supported.includes(value)) return [];
  return [unsupported(field, value, supported.filter((it) => it !== ""))];
}

function nameProblems(name: string): FieldProblem[] {
  const problems = dnsLabel1035(name);
  if (problems.length === 0) return [];
  return [invalid("metadata.name", name, `should match: ${problems.join(",")}`)];
}

function runPolicyProblems({ managedBy, cleanPodPolicy }: RunPolicy): FieldProblem[] {
  const controllers = [V1_CONTROLLER, MULTIKUEUE_CONTROLLER];
  const isKnown = managedBy === undefined || controllers.includes(managedBy);
  return [
    ...isKnown ? [] : [unsupported(MANAGED_BY, managedBy, controllers)],
    ...choiceProblems("spec.runPolicy.cleanPodPolicy", cleanPodPolicy, CLEAN_POD_POLICIES),
  ];
}

function containerProblems(path: string, spec: ReplicaSpec, rules: TypeRules, name: string) {
  const containers = spec.template?.spec?.containers ?? [];
  const problems: FieldProblem[] = [];
  if (containers.length === 0) problems.push(required(path, "must be specified"));
  for (const [index, { image, name }] of containers.entries()) {
    if (!image) problems.push(required(`${path}[${index}].image`, "must be required"));
    if (!name && rules.containerText === undefined) {
      problems.push(required(`${path}[${index}].name`, "must be required"));
    }
  }
  const { containerText } = rules;
  if (containerText !== undefined && !containers.some((it) => it.name === name)) {
    const message = `must have at least one container with name ${containerText}`;
    problems.push(required(path, message));
  }
  return problems;
}

function countProblems(path: string, type: string, count: number | undefined, rules: TypeRules) {
  if (count === undefined) return [];
  const field = `${path}.replicas`;
  if (type === rules.single) return count === 1 ? [] : [forbidden(field, "must be 1")];
  if (rules.atLeastOne) return count >= 1 ? [] : [forbidden(field, "must be at least 1")];
  return count >= 0 ? [] : [invalid(field, count, "must be greater than or equal to 0")];
}

/** The problems of one replica type; `key` is its name as the job spells it. */
function replicaProblems(kind: V1Kind, key: string, spec: ReplicaSpec): FieldProblem[] {
  const rules = TYPE_RULES[kind.kind];
  const path = `spec.${kind.specsKey}[${key}]`;
  const type = replicaTypeNamed(kind, key);
  const isAdmitted = type !== undefined || rules.admitsOthers;
  return [
    ...isAdmitted ? [] : [unsupported(path, key, kind.replicaTypes)],
    ...containerProblems(`${path}.template.spec.containers`, spec, rules, kind.container),
    ...choiceProblems(`${path}.restartPolicy`, spec.restartPolicy, RESTART_POLICIES),
    ...countProblems(path, type ?? key, spec.replicas, rules),
  ];
}

function typesProblems(kind: V1Kind, job: V1Job): FieldProblem[] {
  const specs = `spec.${kind.specsKey}`;
  if (job.spec[kind.specsKey] === undefined) return [required(specs, "must be required")];
  const entries = Object.entries(replicaSpecsOf(job, kind));
  const problems = entries.flatMap(([key, spec]) => replicaProblems(kind, key, spec));
  const types = entries.map(([key]) => replicaTypeNamed(kind, key) ?? key);
  for (const [at, type] of types.entries()) {
    if (types.indexOf(type) === at) continue;
    problems.push(forbidden(`${specs}[${entries[at]?.[0]}]`, `must not be a second ${type}`));
  }
  const chiefs = types.filter((type) => type === "Chief" || type === "Master");
  if (kind.kind === "TFJob" && chiefs.length > 1) {
    problems.push(forbidden(specs, "must not have more than 1 Chief or Master role"));
  }
  const { needs } = TYPE_RULES[kind.kind];
  if (needs !== undefined && !types.includes(needs)) {
    problems.push(required(`${specs}[${needs}]`, "must be present"));
  }
  return problems;
}

/** The fields that single kinds have. */
function ownProblems({ kind, specsKey, ...types }: V1Kind, { spec }: V1Job): FieldProblem[] {
  switch (kind) {
    case "TFJob":
      return choiceProblems("spec.successPolicy", spec.successPolicy, SUCCESS_POLICIES);
    case "MXJob":
      return spec.jobMode
        ? choiceProblems("spec.jobMode", spec.jobMode, MX_JOB_MODES)
        : [required("spec.jobMode", "must be required")];
    case "MPIJob":
      return choiceProblems("spec.cleanPodPolicy", spec.cleanPodPolicy, CLEAN_POD_POLICIES);
    case "PyTorchJob": {
      if (spec.elasticPolicy === undefined) return [];
      const given = Object.keys(Object(spec[specsKey]));
      const hasWorker = given.some((key) => replicaTypeNamed(types, key) === "Worker");
      const isTwice = spec.elasticPolicy.nProcPerNode !== undefined &&
        spec.nprocPerNode !== undefined;
      const message = "must be configured if elastic policy is used";
      return [
        ...hasWorker ? [] : [required(`spec.${specsKey}[Worker]`, message)],
        ...isTwice ? [forbidden(PROCESSES.former, `must not be used with ${PROCESSES.now}`)] : [],
      ];
    }
    default:
      return [];
  }
}

/** Returns every problem of a job. */
export function v1JobProblems(
  kind: V1Kind,
  job: V1Job,
  settings: V1Settings = DEFAULT_V1_SETTINGS,
): FieldProblem[] {
  return [
    ...nameProblems(job.metadata.name ?? ""),
    ...runPolicyProblems(job.spec.runPolicy ?? {}),
    ...ownProblems(kind, job),
    ...typesProblems(kind, job),
    ...sizeProblems(runOf(kind, job, settings), KIND_RULES[kind.kind]),
  ];
}

/**
 * Returns the problems of a change: what may not change, and what the job did not have before, so that a
 * job can always be suspended and released.
 */
export function changedV1JobProblems(
  kind: V1Kind,
  job: V1Job,
  old: V1Job,
  settings: V1Settings = DEFAULT_V1_SETTINGS,
): FieldProblem[] {
  const { managedBy } = job.spec.runPolicy ?? {};
  const isChanged = managedBy !== old.spec.runPolicy?.managedBy;
  const before = new Set(v1JobProblems(kind, old, settings).map(textOf));
  return [
    ...isChanged ? [invalid(MANAGED_BY, managedBy ?? "null", "field is immutable")] : [],
    ...v1JobProblems(kind, job, settings).filter((problem) => !before.has(textOf(problem))),
  ];
}

const textOf = (problem: FieldProblem) => causesText([causeOf(problem)]);

/** Returns the warnings that the user of a job is shown. */
export function v1JobWarnings(kind: V1Kind, { spec }: Pick<V1Job, "spec">): string[] {
  if (kind.kind !== "PyTorchJob" || spec.elasticPolicy?.nProcPerNode === undefined) return [];
  return [`${PROCESSES.former} is deprecated, use ${PROCESSES.now} instead`];
}
