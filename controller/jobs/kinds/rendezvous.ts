/** Rendezvous of the replicas of a v1 job: names, ports and variables that several kinds share. */
import type { EnvVar } from "../../../platform/kube/kubernetes.ts";
import { trainingContainer } from "../defaults.ts";
import { replicaName, type Replicas, replicasOf, type Run } from "../run.ts";

/** Variables with these values, in this order. */
export function variables(values: Readonly<Record<string, string | number>>): EnvVar[] {
  return Object.entries(values).map(([name, value]) => ({ name, value: String(value) }));
}

/** Returns the names of the replicas of a type, the first one first. */
export function* namesOf(run: Run, of: Replicas): Generator<string> {
  for (let index = 0; index < of.count; index++) yield replicaName(run, { of, index });
}

/** Returns the largest number of containers of a pod of the job. */
export function mostContainers({ replicas }: Run): number {
  return Math.max(0, ...replicas.map(({ template }) => (template.spec?.containers ?? []).length));
}

/** Returns the port at which the replicas of a type listen; without such a type, the kind's own. */
export function portOf({ kind }: Run, of: Replicas | undefined): number {
  const declared = of && trainingContainer(kind, of.template)?.ports;
  const named = declared?.find(({ name }) => name === kind.port?.name);
  return named?.containerPort ?? kind.port?.number ?? 0;
}

/** Returns the rank of a replica where the masters come before the workers. */
export function rankAfterMasters(run: Run, type: string, index: number): number {
  return type === "Master" ? index : index + (replicasOf(run, "Master")?.count ?? 0);
}
