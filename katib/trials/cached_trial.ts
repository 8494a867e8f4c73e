/** Lookups of Trials in their cache. */
import type { AnyJob } from "../../crds/job_kind.ts";
import type { Trial } from "../../crds/trial.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { jobKeyOf, trialReference } from "../../trials/plan/claim.ts";

/** Names of the indexes of the cache of Trials. */
export const TRIALS_BY = {
  /** Trials by their name, in all namespaces. */
  name: "name",
  /** Trials by `namespace/name` of the job that they make. */
  job: "job",
} as const;

/** The indexes that the cache of Trials needs. */
export const trialIndexes: Record<string, (trial: Trial) => string[]> = {
  [TRIALS_BY.name]: ({ metadata }) => [metadata.name ?? ""],
  [TRIALS_BY.job]: (trial) => [jobKeyOf(trial)],
};

/** Returns the Trial that the job's controller reference names by its UID, if the cache has that one. */
export function cachedTrial(
  trials: Pick<Informer<Trial>, "get">,
  { metadata }: Pick<AnyJob, "metadata">,
): Trial | undefined {
  const owner = trialReference(metadata);
  if (owner === undefined) return undefined;
  const trial = trials.get({ namespace: metadata.namespace ?? "", name: owner.name });
  return trial?.metadata.uid === owner.uid ? trial : undefined;
}
