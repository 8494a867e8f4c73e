/** Interface of the controllers to trials, which `katib/` implements. */
import type { AnyJob } from "../../crds/job_kind.ts";
import type { TrainJob } from "../../crds/trainjob.ts";

/** Calls about the Trial of a job; but for the first, of the TrainJob controller. */
export interface TrialHooks {
  /**
   * Returns the name of the Trial whose metrics the pods of a job, of any kind, push, for the label on them;
   * undefined if the job belongs to no Trial, or if Katib itself collects. Rejects if that is not known
   * now: the metrics of pods without the label would be lost.
   */
  trialOf(job: AnyJob, signal: AbortSignal): Promise<string | undefined>;
  /** Reports whether a stop of the job is being carried out, or was in this term, whatever a cache shows yet. */
  isStopping(trainJob: TrainJob): boolean;
  /**
   * Called when the TrainJob's JobSet has ended, before the TrainJob says so. Resolves when its accepted
   * pushes are in the log, and a stop that was decided on is written; returns undefined if there is
   * nothing to wait for. It may be called again for a job, and is not waited for longer than
   * {@link SETTLE_MS}: then `signal` aborts.
   */
  settle(trainJob: TrainJob, signal: AbortSignal): Promise<void> | undefined;
}

/** Longest wait of a TrainJob's end for its observation log, in milliseconds. */
export const SETTLE_MS = 5_000;
