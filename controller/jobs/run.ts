/** Run of a v1 job: the job as the engine reads it, with every default in place; never stored. */
import type { PodTemplateSpec } from "../../platform/kube/kubernetes.ts";
import type { JobRestart } from "../../crds/job_restart.ts";
import type { V1Spec, V1Status } from "../../crds/v1/job.ts";
import type { V1Kind } from "../../crds/v1/kinds.ts";
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { V1Settings } from "./v1_settings.ts";
import type { CleanPodPolicy, RestartPolicy } from "../../crds/v1/names.ts";

/** The replicas of one type. */
export interface Replicas {
  /** As the kind's table spells it. */
  readonly type: string;
  readonly count: number;
  readonly restartPolicy: RestartPolicy;
  /** With the kind's port in the container that trains. */
  readonly template: PodTemplateSpec;
}

/** A job to be run. */
export interface Run {
  readonly kind: V1Kind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The types that the job has, in the order in which it is judged. */
  readonly replicas: readonly Replicas[];
  /** Set if the job asks for too many pods: nothing is made for each of them, and none is created. */
  readonly tooLarge: FieldProblem | undefined;
  readonly cleanPodPolicy: CleanPodPolicy;
  readonly suspended: boolean;
  /** The last one, under way or over. */
  readonly restart: JobRestart | undefined;
  readonly spec: V1Spec;
  readonly settings: V1Settings;
  readonly status: V1Status;
}

/** One replica of a run. */
export interface Replica {
  readonly of: Replicas;
  readonly index: number;
}

/** Returns the replicas of a type; undefined if the job has none. */
export function replicasOf({ replicas }: Run, type: string): Replicas | undefined {
  return replicas.find((it) => it.type === type);
}

/** Returns how many replicas the job has in all. */
export function totalReplicas({ replicas }: Run): number {
  return replicas.reduce((sum, { count }) => sum + count, 0);
}

/** Returns the replicas of all types, in the order in which the job is judged. */
export function allReplicas({ replicas }: Run): Replica[] {
  return replicas.flatMap((of) => Array.from({ length: of.count }, (_, index) => ({ of, index })));
}

/** Returns whether the replica is an MPI launcher, which is one of its kind and has no index. */
export function isLauncher({ kind }: Pick<Run, "kind">, { of }: Replica): boolean {
  return kind.kind === "MPIJob" && of.type === "Launcher";
}

/** Name of a replica's pod and Service. */
export function replicaName(run: Pick<Run, "kind" | "name">, replica: Replica): string {
  const { of, index } = replica;
  const base = `${run.name}-${of.type.toLowerCase()}`;
  return (isLauncher(run, replica) ? base : `${base}-${index}`).replaceAll("/", "-");
}
