/** Search of which a TrainJob is a trial, by the job's controller and the caches. Pure. */
import { type AnyJob, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import { objectiveOf, type OptimizationJob } from "../../crds/optimization_job.ts";
import { readPruner } from "../../crds/pruner.ts";
import { trialName } from "../../crds/trial_records.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { isControlledBy } from "../../platform/kube/owner_references.ts";
import { hasSearchEnded } from "../../trials/search/search_status.ts";
import { controllingSearch } from "../../trials/search/trial_job.ts";
import type { PrunedSearch } from "./search_state.ts";

/** The caches of searches and of their trials. */
export interface SearchCaches {
  readonly optimizationJobs: Pick<Informer<OptimizationJob>, "get" | "list" | "onChange">;
  readonly trainJobs: Pick<Informer<AnyJob>, "get" | "onChange">;
}

/** Returns what is pruned of a search; undefined if nothing is, or its annotation is invalid, as the webhook says. */
export function prunedSearch(search: OptimizationJob): PrunedSearch | undefined {
  const text = search.metadata.annotations?.[ANNOTATIONS.pruner];
  const read = text === undefined ? undefined : readPruner(text);
  if (read?.ok !== true) return undefined;
  const { metric, direction } = objectiveOf(search);
  return { pruner: read.value, metric, isMinimized: direction === "Minimize" };
}

/** Whether the search has ended: none of its trials is stopped any more. */
export const isOver = (search: OptimizationJob): boolean =>
  search.metadata.deletionTimestamp !== undefined || hasSearchEnded(search);

/** Returns the search with a pruner that controls a job, and the number of the trial that the job is. */
export function searchOf(
  { optimizationJobs }: Pick<SearchCaches, "optimizationJobs">,
  job: AnyJob,
) {
  const search = controllingSearch(optimizationJobs, job);
  if (search?.metadata.annotations?.[ANNOTATIONS.pruner] === undefined) return undefined;
  const index = Number(/-(\d{1,3})$/.exec(job.metadata.name ?? "")?.[1]);
  const isTrial = index < (search.spec.numTrials ?? 1) &&
    job.metadata.name === trialName(search.metadata, index);
  return isTrial ? { search, index } : undefined;
}

/** A trial of a search that has a job. */
export interface JobTrial {
  readonly index: number;
  readonly ref: JobRef;
  readonly job: AnyJob;
}

/** Returns a trial of a search, by its number; undefined if it has no job. */
export function trialOf(
  { trainJobs }: Pick<SearchCaches, "trainJobs">,
  { metadata: { namespace = "", name = "", uid = "" } }: OptimizationJob,
  index: number,
): JobTrial | undefined {
  const job = trainJobs.get({ namespace, name: trialName({ name, uid }, index) });
  const isTrial = job !== undefined && isControlledBy(job.metadata, uid);
  return isTrial ? { index, ref: jobRefOf(TRAINJOB, job), job } : undefined;
}
