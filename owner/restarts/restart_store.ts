/** Writer of restarts into their jobs, from which they are read back (docs/decisions/0083). */
import { type JobKind, type JobRef, jobText } from "../../crds/job_kind.ts";
import { type JobRestart, restartText } from "../../crds/job_restart.ts";
import { fieldText, restartOf } from "../../crds/job_state.ts";
import { ANNOTATIONS, EVENT_REASONS } from "../../crds/names.ts";
import { isEndedPhase } from "../../crds/pod_names.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { CallOptions, KubeClient } from "../../platform/kube/client.ts";
import type { Patch } from "../../platform/kube/connection/request.ts";
import { isInvalid } from "../../platform/kube/errors.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { decidedAgain, hasChanged } from "../../platform/kube/rereading.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { aboutJob } from "../../trials/plan/notice.ts";
import { fieldPatch, type KeepsProgress, progressPlace } from "../field_patch.ts";
import { type AskedRestart, type RestartOutcome, restartStep } from "./restart_decision.ts";

/** Options of {@link createRestartStore}. */
export interface RestartStoreOptions {
  /** Its writes are fenced: they leave only while this replica leads. */
  readonly client: Pick<KubeClient, "get" | "patch">;
  readonly jobs: ReadonlyMap<JobKind, { readonly pods?: Pick<Informer<WatchedPod>, "list"> }>;
  readonly keepsProgress: KeepsProgress;
  /** Whether it is decided that the job is stopped early. */
  readonly isStopping: (jobUid: string) => boolean;
  /** Returns the last step of a job. */
  readonly lastStep: (jobUid: string) => number | undefined;
  readonly events?: Pick<EventRecorder, "record"> | undefined;
  readonly clock: Pick<Clock, "now">;
  /** Deadline of each call, in milliseconds: it ends before another owner may begin (docs/decisions/0014). */
  readonly deadlineMs: number;
}

/** Creates the store of restarts: the one place in which a restart begins. */
export function createRestartStore(options: RestartStoreOptions) {
  const { client, jobs, keepsProgress, isStopping, lastStep } = options;
  const { events, clock, deadlineMs } = options;

  /** UIDs of the pods that have the job's label and have not ended. A label is no proof: who executes a restart knows the job's own. */
  function podsOf({ kind, namespace, name }: JobRef): string[] {
    const all = jobs.get(kind)?.pods?.list(namespace) ?? [];
    return all.flatMap(({ metadata: { labels, uid = "" } = {}, status }) =>
      labels?.[kind.podLabels.jobName] === name && !isEndedPhase(status?.phase) ? [uid] : []
    );
  }

  /** Writes the restart to the job as it was read, and returns the one that it holds then. */
  async function write(
    { kind, namespace, name, uid }: JobRef,
    resourceVersion: string | undefined,
    restart: JobRestart,
    bounds: CallOptions,
  ): Promise<JobRestart | undefined> {
    const place = progressPlace(kind, keepsProgress);
    if (place === undefined) return undefined;
    const key = { namespace, name };
    if (place.at === "annotation") {
      const annotations = { [ANNOTATIONS.restart]: fieldText(uid, restart) };
      const body = { metadata: { uid, resourceVersion, annotations } };
      return restartOf(await client.patch(kind, key, { type: "merge", body }, bounds));
    }
    // The whole field: what the last restart had, such as its end, does not stay.
    const { operations, ...part } = fieldPatch({ at: "status", field: "restart" }, uid, restart);
    const version = { path: "/metadata/resourceVersion", value: resourceVersion };
    const guarded: Patch = {
      type: "json",
      operations: [{ op: "test", ...version }, ...operations],
    };
    return restartOf(await client.patch(kind, key, guarded, { ...part, ...bounds }));
  }

  function tell({ job }: AskedRestart, restart: JobRestart): void {
    const message = restartText(restart);
    events?.record(aboutJob(job), { type: "Normal", reason: EVENT_REASONS.restarting, message });
  }

  return {
    /**
     * Stores a restart, unless the job holds the same one, or is in no state for one. It is decided by the job as it is
     * read now, and written only to that very version. Rejects if the outcome is not known: asking again for the same
     * count does no harm.
     */
    async store(asked: AskedRestart, signal: AbortSignal): Promise<RestartOutcome> {
      const { kind, namespace, name, uid } = asked.job;
      const bounds = { signal, deadlineMs };
      let refused: { readonly version: string | undefined; readonly error: unknown } | undefined;
      return await decidedAgain(jobText(asked.job), async () => {
        const job = await getOrUndefined(client, kind, { namespace, name }, bounds);
        const version = job?.metadata.resourceVersion;
        // The job has not changed: what was refused is the restart itself.
        if (refused !== undefined && version === refused.version) throw refused.error;
        const step = restartStep(job, asked, {
          nowMs: clock.now(),
          pods: podsOf(asked.job),
          step: lastStep(uid),
          isStopping: isStopping(uid),
        });
        if (step.kind !== "write") return step;
        try {
          const restart = await write(asked.job, version, step.restart, bounds);
          if (restart?.count !== asked.count) return { kind: "pruned" };
          tell(asked, restart);
          return { kind: "stored", restart };
        } catch (error) {
          if (isInvalid(error)) refused = { version, error };
          else if (!hasChanged(error)) throw error;
          return undefined;
        }
      });
    },
  };
}

/** A store. */
export type RestartStore = ReturnType<typeof createRestartStore>;
