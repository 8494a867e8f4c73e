/** Interface of the TrainJob controller to trials, which `katib/` implements. */
import type { TrainJob } from "../../crds/trainjob.ts";

/** Calls of the TrainJob controller about the Trial of a job. */
export interface TrialHooks {
  /**
   * Returns the name of the Trial whose metrics this TrainJob's pods push, for the label on them;
   * undefined if the job belongs to no Trial, or if Katib itself collects. Rejects if that is not known
   * now: the metrics of pods without the label would be lost.
   */
  trialOf(trainJob: TrainJob, signal: AbortSignal): Promise<string | undefined>;
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
