/** Host names of a TrainJob's pods, and the places of their indexes. */
import type { EnvVar } from "../../platform/kube/kubernetes.ts";
import { JOB_KEYS } from "../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { STEPS } from "../../crds/names.ts";
import { RENDEZVOUS_PORT } from "../../crds/policy_names.ts";
import { declarePort } from "./container_environment.ts";
import { type Draft, trainerContainer, trainerJob } from "./draft.ts";

function annotation(key: string): NonNullable<EnvVar["valueFrom"]> {
  return { fieldRef: { fieldPath: `metadata.annotations['${key}']` } };
}

/** The index of a pod in its Job. */
export const COMPLETION_INDEX = annotation(JOB_KEYS.completionIndex);
/** The index of a pod's Job among the replicas of its replicated job. */
export const JOB_INDEX = annotation(JOBSET_KEYS.jobIndex);

/** Returns the subdomain of the pods: the JobSet's own, else the TrainJob's name. */
export function subdomainOf({ trainJob, spec }: Draft): string {
  return spec.network?.subdomain ?? trainJob.metadata.name ?? "";
}

/** Returns the name of a pod's host, without its subdomain. */
export function hostOf({ trainJob }: Draft, job: string, replica: number, pod: number): string {
  return `${trainJob.metadata.name}-${job}-${replica}-${pod}`;
}

/** Returns the name by which other pods of the TrainJob reach a pod. */
export function endpointOf(draft: Draft, job: string, replica: number, pod: number): string {
  return `${hostOf(draft, job, replica, pod)}.${subdomainOf(draft)}`;
}

/** Returns the name of the first trainer job, by convention that of the step. */
export function trainerJobName(draft: Draft): string {
  return trainerJob(draft)?.name ?? STEPS.trainer;
}

/** Returns the endpoint of the first pod of the trainer, where the nodes of most frameworks meet (G5). */
export function firstNode(draft: Draft): string {
  return endpointOf(draft, trainerJobName(draft), 0, 0);
}

/** Declares the port at which the nodes meet in the container that trains. */
export function declareRendezvous(draft: Draft): void {
  const container = trainerContainer(draft);
  if (container) declarePort(container, RENDEZVOUS_PORT);
}
