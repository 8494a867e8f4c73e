/** Wait between the end of a JobSet and the end of its TrainJob, for the last pushes of its pods. */
import { getLogger } from "@logtape/logtape";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { keyOf } from "../../platform/kube/resource.ts";
import { SETTLE_MS, type TrialHooks } from "./trials.ts";

const log = getLogger(["milepost", "controller", "trainjob"]);

/** Jobs that are remembered; for a forgotten one the wait begins again. */
const REMEMBERED = 10_000;

/** Waits for ended jobs; wakes each when its wait is over. */
export type Settling = ReturnType<typeof createSettling>;

/** Creates a memory by UID of at most {@link REMEMBERED} jobs. */
export function createSettling(
  { settle, clock }: Pick<TrialHooks, "settle"> & { readonly clock: Pick<Clock, "sleep"> },
) {
  const known = createBoundedCache<{ settled: boolean }>(REMEMBERED);
  const ending = new AbortController();
  let wake: (key: string) => void = () => {};

  async function wait(trainJob: TrainJob, settled: Promise<void | "late">) {
    const outcome = await settled.catch(messageOf);
    if (outcome === undefined || ending.signal.aborted) return;
    const message = "a TrainJob is marked as ended although its observation log may be incomplete";
    const problem = outcome === "late" ? `not complete within ${SETTLE_MS} ms` : outcome;
    log.warn(message, { trainJob: keyOf(trainJob), problem });
  }

  return {
    /**
     * Reports whether the job's end may be reported. The first call begins the wait, which is never longer
     * than {@link SETTLE_MS}; at its end the job is woken.
     */
    isSettled(trainJob: TrainJob): boolean {
      const uid = trainJob.metadata.uid ?? "";
      const entry = known.get(uid);
      if (entry !== undefined) return entry.settled;
      const settled = answerInTime(
        clock,
        SETTLE_MS,
        "late" as const,
        (signal) => settle(trainJob, signal),
        ending.signal,
      );
      if (!(settled instanceof Promise)) return true;
      const waiting = { settled: false };
      known.set(uid, waiting);
      wait(trainJob, settled).finally(() => {
        waiting.settled = true;
        if (!ending.signal.aborted) wake(keyOf(trainJob));
      });
      return false;
    },
    start(enqueue: (key: string) => void) {
      wake = enqueue;
      return () => ending.abort();
    },
  };
}
