/** Bound of the replicas of a job that is converted: each of their names is looked for and written out. Pure. */
import { type Run, totalReplicas } from "../jobs/run.ts";

/** More pods than a TrainJob may have by default. */
const MOST = 10_000;

/** Returns why there are too many; none if there are not. */
export function boundRefusals(run: Run): string[] {
  const total = totalReplicas(run);
  return total <= MOST
    ? []
    : [`spec.${run.kind.specsKey}: has ${total} replicas; at most ${MOST} are converted`];
}
