/** What the TrainJob controller asks about trials. The adapter answers; `app/` hands its answers in. */
import type { TrainJob } from "../../crds/trainjob.ts";

/** Undefined in the controller's options: nothing here is anybody's trial. */
export interface TrialHooks {
  /**
   * The name of the Trial whose metrics this TrainJob's pods push, for the label on them; undefined where
   * it is nobody's, or where its collector is Katib's own business. Rejects where it is not known now:
   * pods without the label would be lost to their trial.
   */
  trialOf(trainJob: TrainJob, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Told that the TrainJob's JobSet has ended, before the TrainJob says so. Resolves when its accepted
   * pushes are in the log, and a stop that was decided on has been written; undefined where there is
   * nothing to wait for. It may be called again for a job, and is not waited for longer than
   * {@link SETTLE_MS}: then \`signal\` aborts.
   */
  settle(trainJob: TrainJob, signal: AbortSignal): Promise<void> | undefined;
}

/** How long the end of a TrainJob waits for its observation log, in milliseconds. */
export const SETTLE_MS = 5_000;
