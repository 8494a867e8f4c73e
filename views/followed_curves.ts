/** Curves of jobs as viewers ask for them and follow them: at the owner of all state, or at a mirror of it. */
import type { JobRef } from "../crds/job_kind.ts";
import type { CurveAnswer, CurveAsk } from "../crds/wire/shown_curves.ts";
import type { HeldCurves } from "../owner/curves/held_curves.ts";
import type { Known } from "../owner/followed_group.ts";
import type { KubeClient } from "../platform/kube/client.ts";

/** The curves. */
export interface FollowedCurves {
  /** Asks once for curves; `jobs` are those asked about, `user` who asks. Bounded in time. */
  readonly ask: (
    ask: CurveAsk,
    signal: AbortSignal,
    jobs: readonly JobRef[],
    user?: string,
  ) => CurveAnswer | Promise<CurveAnswer>;
  /**
   * Calls the listener with the curves of the job as they change, or with why they cannot be had, of the present at
   * once. Returns a function that stops this.
   */
  readonly follow: (
    job: JobRef,
    listener: (known: Known<HeldCurves>) => void,
    user?: string,
  ) => () => void;
}

/** The manager, which has them, as it is reached now. */
export type ManagerClient = Pick<KubeClient, "read" | "stream">;
