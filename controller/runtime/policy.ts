/** ML policies and gangs: the parts of a runtime that one API field each adds to rendering. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { JobSet } from "../../crds/jobset.ts";
import type { EnvVar, ObjectMeta, PolicyRule } from "../../platform/kube/kubernetes.ts";
import { LABELS } from "../../crds/names.ts";
import type { AnyTrainingRuntime, TrainingRuntimeSpec } from "../../crds/training_runtime.ts";
import type { Child, Progress } from "./child.ts";
import { upsertEnv } from "./container_environment.ts";
import { type Draft, type Stage, trainerContainer } from "./draft.ts";

/** The behaviour of one field of `mlPolicy` or `podGroupPolicy`. All of it is pure. */
export interface Policy {
  /**
   * For a policy that upstream's definition of runtimes drops: the value of the framework label of runtimes
   * that ask for it. Where the definition drops the field, the label still says so.
   */
  readonly framework?: string;
  /** Returns every problem of a runtime that sets the field. */
  readonly validateRuntime?: (runtime: TrainingRuntimeSpec) => FieldProblem[];
  /** Sets how many pods the jobs have, where the policy says so. It makes nothing for each pod: the bound is checked after it. */
  readonly count?: (draft: Draft) => void;
  /** Returns every problem of a TrainJob with such a runtime. */
  readonly validate?: (draft: Draft) => FieldProblem[];
  /** Variables of the trainer's container that `trainer.env` follows, and may refer to or replace. */
  readonly variables?: (draft: Draft) => EnvVar[];
  /** Changes the draft. It is called only if there is no problem. */
  readonly apply?: (draft: Draft) => void;
  /** Returns the objects beside the JobSet, from the draft after all stages. Nothing is created. */
  readonly children?: (draft: Draft, progress: Progress) => Child[];
  /**
   * Access to the children that the manager needs beyond its own rules, in any namespace; Secrets have a role for
   * all policies (`app/manager/rights.ts`).
   */
  readonly rules?: readonly PolicyRule[];
}

/** The behaviour of one field of `podGroupPolicy`. */
export interface Gang extends Policy {
  /** Reports whether pods with such metadata are in a group of this scheduler. */
  readonly marks?: (pods: Pick<ObjectMeta, "labels" | "annotations">) => boolean;
  /** Returns the priority classes that admission has to look for. */
  readonly priorityClasses?: (runtime: Partial<TrainingRuntimeSpec>) => string[];
}

/** Every policy that is executed. */
export interface Policies {
  /** By the field of `spec.mlPolicy`. */
  readonly ml: Readonly<Record<string, Policy>>;
  /** The ML policy of a runtime that names no other. */
  readonly plain: Policy;
  /** By the field of `spec.podGroupPolicy`. */
  readonly gangs: Readonly<Record<string, Gang>>;
}

/** Fields of `mlPolicy` that are not a policy. */
const ML_SETTINGS: readonly string[] = ["numNodes"];

function fieldsOf(settings: object | undefined): string[] {
  return Object.entries(settings ?? {})
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([field]) => field);
}

function mlFields({ mlPolicy }: Partial<TrainingRuntimeSpec>): string[] {
  return fieldsOf(mlPolicy).filter((field) => !ML_SETTINGS.includes(field));
}

function rows<T extends Policy>(
  table: Readonly<Record<string, T>>,
  fields: readonly string[],
): T[] {
  return fields.filter((field) => Object.hasOwn(table, field))
    .flatMap((field) => table[field] ?? []);
}

function mlPoliciesOf(policies: Policies, runtime: Partial<TrainingRuntimeSpec>): Policy[] {
  const fields = mlFields(runtime);
  return fields.length === 0 ? [policies.plain] : rows(policies.ml, fields);
}

function gangsOf(policies: Policies, { podGroupPolicy }: Partial<TrainingRuntimeSpec>): Gang[] {
  return rows(policies.gangs, fieldsOf(podGroupPolicy));
}

/** Returns the policies that the runtime asks for, ML policy first. */
export function policiesOf(policies: Policies, runtime: Partial<TrainingRuntimeSpec>): Policy[] {
  return [...mlPoliciesOf(policies, runtime), ...gangsOf(policies, runtime)];
}

/** Returns the ML policy that only the label of a runtime asks for, since the runtime names none. */
export function policyOfLabel(
  { ml }: Policies,
  { metadata, spec }: AnyTrainingRuntime,
): string | undefined {
  const framework = metadata.labels?.[LABELS.framework];
  if (framework === undefined || mlFields(spec ?? {}).length > 0) return undefined;
  return Object.keys(ml).find((field) => ml[field]?.framework === framework);
}

/**
 * Returns a problem for a runtime whose label asks for a policy that the cluster's definition dropped from it:
 * it must not run as plain.
 */
export function droppedPolicyProblems(
  policies: Policies,
  runtime: AnyTrainingRuntime,
  dropped: readonly string[],
): FieldProblem[] {
  const field = policyOfLabel(policies, runtime);
  if (field === undefined || !dropped.includes(field)) return [];
  const label = `${LABELS.framework}: ${runtime.metadata.labels?.[LABELS.framework]}`;
  const message =
    `the definition of ${runtime.kind}s in this cluster drops this field, which the ` +
    `label ${label} asks for; install Milepost's definitions (milepost crds) and apply the runtime ` +
    "again, or change the label";
  return [{ field: `spec.mlPolicy.${field}`, message }];
}

/** Returns a problem for each policy that the runtime asks for and that has no row in the tables. */
export function unsupportedPolicies(
  policies: Policies,
  runtime: Partial<TrainingRuntimeSpec>,
): FieldProblem[] {
  const ml = mlFields(runtime).filter((field) => !Object.hasOwn(policies.ml, field));
  const gangs = fieldsOf(runtime.podGroupPolicy)
    .filter((field) => !Object.hasOwn(policies.gangs, field));
  return [
    ...ml.map((name) => ({
      field: `spec.mlPolicy.${name}`,
      message: `ML policy ${name} is not supported yet`,
    })),
    ...gangs.map((name) => ({
      field: `spec.podGroupPolicy.${name}`,
      message: `gang scheduling by ${name} is not supported yet`,
    })),
  ];
}

function stage(name: string, select: (runtime: Draft["runtime"]) => Policy[]): Stage {
  return {
    name,
    validate: (draft) => select(draft.runtime).flatMap((policy) => policy.validate?.(draft) ?? []),
    apply(draft) {
      for (const policy of select(draft.runtime)) policy.apply?.(draft);
    },
  };
}

/** The stage of the ML policy's variables that precede those of the TrainJob. */
export function policyVariables(policies: Policies): Stage {
  return {
    name: "policyVariables",
    apply(draft) {
      const variables = mlPoliciesOf(policies, draft.runtime)
        .flatMap((policy) => policy.variables?.(draft) ?? []);
      const container = trainerContainer(draft);
      if (container) upsertEnv(container, variables);
    },
  };
}

/** The stage in which the ML policy counts pods. */
export function policyCounts(policies: Policies): Stage {
  return {
    name: "policyCounts",
    apply(draft) {
      for (const policy of mlPoliciesOf(policies, draft.runtime)) policy.count?.(draft);
    },
  };
}

/** The stage of the ML policy. */
export function mlPolicyStage(policies: Policies): Stage {
  return stage("mlPolicy", (runtime) => mlPoliciesOf(policies, runtime));
}

/** The stage of the gang, which sees the pods as they will be created. */
export function gangStage(policies: Policies): Stage {
  return stage("gang", (runtime) => gangsOf(policies, runtime));
}

/** Returns the names of the priority classes that a TrainJob with such a runtime needs, each once. */
export function priorityClassesOf(
  policies: Policies,
  runtime: Partial<TrainingRuntimeSpec>,
): string[] {
  const names = gangsOf(policies, runtime)
    .flatMap(({ priorityClasses }) => priorityClasses?.(runtime) ?? []);
  return [...new Set(names)];
}

/** Returns the access rules of every policy that declares some, by a name for its role. */
export function policyRules(policies: Policies): Readonly<Record<string, readonly PolicyRule[]>> {
  const gangs = Object.entries(policies.gangs).map(([name, gang]) =>
    [`gang-${name}`, gang] as const
  );
  const rows = [...Object.entries<Policy>(policies.ml), ...gangs];
  return Object.fromEntries(
    rows.flatMap(([name, { rules = [] }]) => rules.length > 0 ? [[name, rules]] : []),
  );
}

const hasChildren = ({ children }: Policy) => children !== undefined;

/**
 * Reports whether a TrainJob may have children of policies: its live runtime asks for such a policy, or its pods are
 * in a gang. Of a runtime that does not exist any more nothing is known.
 */
export function mayHaveChildren(
  policies: Policies,
  runtime: AnyTrainingRuntime | undefined,
  jobSet: JobSet | undefined,
): boolean {
  const { ml, plain, gangs } = policies;
  if (runtime === undefined) {
    return [...Object.values(ml), plain, ...Object.values(gangs)].some(hasChildren);
  }
  const pods = jobSet?.spec?.replicatedJobs?.[0]?.template.spec?.template?.metadata;
  return policiesOf(policies, runtime.spec ?? {}).some(hasChildren) ||
    (pods !== undefined && Object.values(gangs).some(({ marks }) => marks?.(pods)));
}
